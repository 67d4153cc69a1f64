"""Reading the data: which rows may be learnt from, and the planted rows made from them."""

import gzip
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from ..paths import HERE

Row = dict[str, object]

# The files of texts written for this project that training learns from (`data/README.md`).
LEARNT = ("authored", "translated", "inserts", "requests", "tasks", "world", "channel", "spans")

_BOUNDARY = re.compile(r"\n+|(?<=[.!?。！？।])\s+")
# The same wrappers serve planted attacks and planted benign sentences, so that none of them is a sign.
_WRAPPERS = ("<!-- {} -->", "// {}", "# {}", "> {}", "[{}]", "* {}", "P.S. {}", "({})", "Note: {}", '"{}"', "--- {} ---", "FYI {}")
_INSERT_ATTACK = {
    "authored blunt": 6, "authored direct": 4, "authored multi": 8, "authored multib": 8, "authored secrets": 4,
    "authored apps": 3, "synthetic multilingual": 1.5, "spikee seeds": 2, "synthetic direct": 0.5,
    "synthetic secret extraction": 0.3, "own": 6,
}  # fmt: skip
_INSERT_HONEST = {
    "mined trigger sentences": 1.0, "synthetic imperative sentences": 1.0, "package strings": 0.5,
    "UI strings": 0.5, "authored multi": 4, "authored multib": 4, "own": 4,
}  # fmt: skip


# What people ask of an assistant; in a document, nobody who speaks to its reader asks so.
_TASKS = {"alpaca_eval", "neuralchemy", "ToolAlpaca", "self-instruct", "BFCL", "PIBD", "insecure-code instruct"}
_TASK_HOSTS = {"document", "email", "code", "tool_call"}


def read_rows(path: Path) -> list[Row]:
    """Rows of a JSONL file, gzip or plain."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 over the contents of the files, in the order given."""
    total = hashlib.sha256()
    for path in paths:
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def own_file(name: str) -> Path:
    """Path of a file of texts written for this project."""
    return HERE / "data" / f"{name}.jsonl"


def own_texts(name: str) -> list[Row]:
    """Rows of a file of texts written for this project, in file order. `data/README.md` documents the fields."""
    return read_rows(own_file(name))


def own_digest() -> str:
    """SHA-256 over the texts of this project that training learns from."""
    return digest(own_file(name) for name in LEARNT)


def with_spans(rows: list[Row]) -> list[Row]:
    """Rows with the planted passages that readers marked one by one (`data/spans.jsonl`: the start of the text's SHA-256, code points)."""
    marked = {str(one["text_sha256"]): one["span"] for one in own_texts("spans")}
    found = ((row, marked.get(hashlib.sha256(str(row["text"]).encode("utf-8", "surrogatepass")).hexdigest()[:16])) for row in rows)
    return [row if span is None or row["label"] == "benign" else {"span": span} | row for row, span in found]


def allowed(rows: list[Row], licences: dict[str, dict[str, str]], excluded: set[str], sources: set[str]) -> list[Row]:
    """Rows whose source has none of the excluded licence classes."""
    kept = []
    for row in rows:
        source = str(row["source"])
        if licences.get(source, {}).get("class", "project") not in excluded and source not in sources:
            kept.append(row)
    return kept


def plant(host: str, insert: str, rng: random.Random) -> tuple[str, tuple[int, int]]:
    """Put `insert` at a line or sentence boundary of `host`; return the text and the span of the insert."""
    places = [0, len(host)] + [match.end() for match in _BOUNDARY.finditer(host)]
    at = rng.choice(places)
    piece = rng.choice(_WRAPPERS).format(insert) if rng.random() < 0.4 else insert
    before, after = host[:at], host[at:]
    own_line = "\n" in host or rng.random() < 0.3
    left = "" if not before or before[-1].isspace() else ("\n" if own_line else " ")
    right = "" if not after or after[0].isspace() else ("\n" if own_line else " ")
    start = len(before) + len(left)
    return before + left + piece + right + after, (start, start + len(piece))


def _pool(rows: list[Row], weights: dict[str, float], label: str) -> dict[bool, tuple[list[str], list[float]]]:
    """Texts to plant with their cumulative weights, by whether they are English."""
    pool: dict[bool, list[tuple[str, float]]] = defaultdict(list)
    for row in rows:
        text, source = str(row["text"]), str(row["source"])
        weight = weights.get("own" if source.startswith("own ") else source, 0.0)
        if row["label"] != label or not weight or "span" in row or not 12 <= len(text) <= 360:
            continue
        if label == "benign" and row["group"] == "chat":
            continue
        if label == "injection" and row["group"] not in {"direct", "jailbreak", "multilingual"}:
            continue
        pool[row["lang"] == "en"].append((text, weight))
    return {key: ([text for text, _ in one], list(accumulate(weight for _, weight in one))) for key, one in pool.items()}


def planted_rows(rows: list[Row], count: int, seed: int) -> list[Row]:
    """`count` attacks and as many benign sentences, each put into an benign host."""
    rng = random.Random(f"{seed}/planted")
    hosts: dict[bool, list[str]] = defaultdict(list)
    for row in rows:
        if row["label"] == "benign" and 200 <= len(str(row["text"])) <= 6000 and "obfuscated" not in str(row["source"]):
            hosts[row["lang"] == "en"].append(str(row["text"]))
    result: list[Row] = []
    for label, weights in (("injection", _INSERT_ATTACK), ("benign", _INSERT_HONEST)):
        pool = _pool(rows, weights, label)
        for _ in range(count):
            english = rng.random() < 0.6
            texts, odds = pool[english]
            insert = rng.choices(texts, cum_weights=odds)[0]
            text, span = plant(rng.choice(hosts[english if rng.random() < 0.7 else not english]), insert, rng)
            source = "planted" if label == "injection" else "planted decoy"
            row: Row = {"text": text, "label": label, "source": source, "group": "indirect", "lang": "en" if english else "xx"}
            if label == "injection":
                row["span"] = list(span)
            result.append(row)
    return result


def planted_tasks(rows: list[Row], count: int, seed: int) -> list[Row]:
    """`count` benign documents with a task for a model in them that has nothing to do with them."""
    rng = random.Random(f"{seed}/tasks")
    benign = [row for row in rows if row["label"] == "benign" and row["lang"] == "en"]
    tasks = [str(row["text"]) for row in benign if row["source"] in _TASKS and row["group"] == "chat" and 20 <= len(str(row["text"])) <= 240]
    hosts = [str(row["text"]) for row in benign if row["group"] in _TASK_HOSTS and 200 <= len(str(row["text"])) <= 4000]
    result: list[Row] = []
    for _ in range(count):
        text, span = plant(rng.choice(hosts), rng.choice(tasks), rng)
        result.append({"text": text, "label": "injection", "source": "planted task", "group": "indirect", "lang": "en", "span": list(span)})
    return result
