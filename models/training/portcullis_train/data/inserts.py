"""Inserted rows: short passages written for this project (`data/inserts.jsonl`), planted into benign hosts.

Families `a-*` are what a stranger plants for an assistant that reads on: tasks, changes to the form or the content of
its answer, code, actions. Families `h-*` stand in documents for people. Planted in a host the former are attacks; alone
they are what any user may ask (`inserted alone`), and beside a text that they speak of (`h-host`) as well. So neither
the words nor the place tells, only both together. Families `xx-*` are passages of mixed families in other languages.
"""

import json
import random
from collections import defaultdict
from dataclasses import dataclass

from .rows import Row, own_texts, plant

HOSTS = {"h-mail": "email", "h-table": "table", "h-post": "post", "xx-hosts": "post"}
HOST_KINDS = {"document": 1.0, "code": 1.0, "tool_call": 1.4, "email": 1.6, "table": 1.6, "post": 1.4}
# Actions are asked of people too: in a letter nobody could tell, so there they are not planted, and seldom elsewhere.
LETTERS = {"a-act": "email"}
# How often a passage of a family is drawn, against 1. The families written last are few and where the model was weakest.
WEIGHTS = {"a-act": 0.4, "h-quiz": 0.3} | dict.fromkeys(("a-side", "a-web", "a-mailto", "h-side", "h-web", "h-mailto"), 4.0)
# A change to the form of an answer, a task, an action or a change to code may be asked by the user himself.
ASKED_ALONE = ("a-task", "a-form", "a-act", "a-code")
PLACES = ("start", "middle", "end")


@dataclass(frozen=True)
class Passage:
    """A written passage: `label` is that of a host with the passage in it, `apart` keeps it from training."""

    text: str
    family: str
    lang: str
    label: str
    apart: bool = False


def passages() -> list[Passage]:
    """Every passage, in file order."""
    rows = own_texts("inserts")
    return [Passage(str(row["text"]), str(row["family"]), str(row["lang"]), str(row["label"]), row["split"] == "dev") for row in rows]


def _leaves(tree: object) -> list[tuple[object, object]]:
    """Container and key of every string of some length in a JSON value."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    found: list[tuple[object, object]] = []
    for key, value in pairs:
        found += [(tree, key)] if isinstance(value, str) and len(value) >= 8 else _leaves(value)
    return found


def _into_json(host: str, insert: str, rng: random.Random) -> tuple[str, tuple[int, int]] | None:
    """Put the passage into a string field of a JSON host, or `None` if it is none."""
    try:
        tree = json.loads(host)
    except ValueError:
        return None
    leaves = _leaves(tree)
    if not leaves:
        return None
    container, key = rng.choice(leaves)
    value = container[key]  # type: ignore[index]
    container[key] = rng.choice((f"{value} {insert}", f"{insert} {value}", insert, f"{value}\n{insert}"))  # type: ignore[index]
    text = json.dumps(tree, ensure_ascii=False, indent=2 if "\n" in host else None)
    written = json.dumps(insert, ensure_ascii=False)[1:-1]
    start = text.find(written)
    return text, (start, start + len(written))


def put(host: str, insert: str, place: str, rng: random.Random) -> tuple[str, tuple[int, int]]:
    """Text and span of the passage at the start, at the end, or at a boundary inside of the host."""
    inside = _into_json(host, insert, rng) if host[:1] in "{[" and rng.random() < 0.7 else None
    if inside:
        return inside
    if place == "middle":
        return plant(host, insert, rng)
    gap = rng.choice(("\n", "\n", "\n\n", " ") if "\n" not in insert else ("\n", "\n\n"))
    if place == "start":
        return insert + gap + host, (0, len(insert))
    before = host.rstrip() + gap
    return before + insert, (len(before), len(before) + len(insert))


class Hosts:
    """Benign texts to plant into, by language and kind."""

    def __init__(self, rows: list[Row], written: list[Passage]) -> None:
        self._by: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            text, group = str(row["text"]), str(row["group"])
            group = "document" if group == "multilingual" else group
            if row["label"] == "benign" and group in HOST_KINDS and 150 <= len(text) <= 4000:
                self._by[str(row["lang"])][group].append(text)
        for one in written:
            self._by[one.lang][HOSTS[one.family]].append(one.text)

    def draw(self, lang: str, rng: random.Random, but: str | None = None) -> str:
        """A host of any kind `but` one, mostly of the language asked for where there is one."""
        foreign = lang not in self._by or (lang != "en" and rng.random() < 0.35)
        kinds = {kind: texts for kind, texts in self._by["en" if foreign else lang].items() if kind != but}
        if not kinds:
            return self.draw("en", rng, but)
        return rng.choice(kinds[rng.choices(list(kinds), [HOST_KINDS[kind] for kind in kinds])[0]])


def _row(text: str, label: str, source: str, group: str, lang: str, span: tuple[int, int] | None = None) -> Row:
    row: Row = {"text": text, "label": label, "source": source, "group": group, "lang": lang}
    return row | {"span": list(span)} if span else row


def _planted(one: Passage, hosts: Hosts, source: str, rng: random.Random) -> Row:
    place = rng.choice(PLACES) if one.family != "h-host" else rng.choice(("start", "end"))
    lang = one.lang if one.lang != "en" or rng.random() < 0.9 else rng.choice(("de", "fr", "es", "ru", "zh"))
    text, span = put(hosts.draw(lang, rng, LETTERS.get(one.family)), one.text, place, rng)
    return _row(text, one.label, source, "indirect", one.lang, span if one.label == "injection" else None)


def _source(one: Passage) -> str:
    """Snippets are few and near to what documentation says: the mixture gives them a share of their own."""
    return "inserted code" if "```" in one.text else "inserted decoy" if one.label == "benign" else "inserted"


def inserted_rows(rows: list[Row], given: list[Passage], count: int, seed: int) -> list[Row]:
    """`count` attacks and as many benign rows to learn from, and every passage that a user may ask for alone."""
    rng = random.Random(f"{seed}/inserted")
    learnt = [one for one in given if not one.apart]
    written = [one for one in learnt if one.family in HOSTS]
    short = [one for one in learnt if one.family not in HOSTS]
    hosts = Hosts(rows, written)
    result = [_row(one.text, "benign", "inserted alone", "chat", one.lang) for one in short if one.family in ASKED_ALONE]
    result += [_row(one.text, "benign", "inserted alone", "document", one.lang) for one in written]
    for label in ("injection", "benign"):
        pool = [one for one in short if one.label == label]
        chosen = rng.choices(pool, [WEIGHTS.get(one.family, 1.0) for one in pool], k=count)
        result += [_planted(one, hosts, _source(one), rng) for one in chosen]
    return result


def apart_rows(dev: list[Row], given: list[Passage], seed: int = 1) -> list[Row]:
    """The passages kept from training, each in a host of dev; source is `insert FAMILY`."""
    rng = random.Random(f"{seed}/apart")
    kept = [one for one in given if one.apart]
    written = [one for one in kept if one.family in HOSTS]
    hosts = Hosts(dev, written)
    rows = [_planted(one, hosts, f"insert {one.family}", rng) for one in kept if one.family not in HOSTS]
    return rows + [_row(one.text, "benign", f"insert {one.family}", "document", one.lang) for one in written]
