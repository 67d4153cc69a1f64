"""The world sets and what is planted into them.

`world-train` was written by many other people and holds some domains (personas, skill and agent files, prompts) as benign only.
A net learns such a domain as benign, attacks and all, so each of its files also comes with an attack planted in it, and with a
benign passage of the same look. Attack and host are written apart: passages are the planted spans of the authored texts, short
attacks of `world-train`, and the texts of `data/world.jsonl`.

The `kind` of those says their use: `attack` and `benign` are whole texts; `plant` and `keep` are passages that become an attack, or stay benign, inside a document; `host` is a
benign document to plant into.
"""

import random
from collections import defaultdict
from pathlib import Path

from .channels import CHANNEL_NAMES, channel_of
from .inserts import put
from .rows import Row, read_rows

# Benign documents that attacks are planted into, with how often each is used.
HOST_SOURCES = {
    "lobe_agents": 1, "copilot_agents": 2, "fabric_patterns": 2, "prompt_guide": 1, "oasb_agents": 3, "atlas_cases": 3,
    "authored agentfiles": 2, "authored planted": 1, "InjecAgent": 1, "own w-host": 4,
    "openclaw_skills": 2, "agent_files_wild": 2, "vendor_skills": 2, "subagents_commands": 1, "gpts_louis": 1, "mcp_real_tools": 2,
    "authored3 rules_honest": 6, "authored4 rules_honest": 6, "own c-rules_honest": 6,
}  # fmt: skip
# Short attacks of world-train that are instructions rather than whole conversations.
PASSAGE_SOURCES = {"atr_rules", "atr_autoresearch", "aig_operators", "authored hijack", "authored extract", "authored langa", "authored langb", "authored langc"}
# Benign sentences of the same look.
KEEP_SOURCES = {"atr_rules", "atr_mentions", "authored hijack", "authored extract", "authored langa", "authored langb", "authored langc"}
PLACES = ("start", "middle", "middle", "end")
HOST_CHARACTERS = 1600


def world_rows(data: Path) -> list[Row]:
    """`world-train` and the training part of `authored-2`."""
    rows = read_rows(data / "world-train.jsonl.gz")
    return rows + [row for row in read_rows(data / "authored-2.jsonl.gz") if row["split"] == "train"]


def _by_lang(texts: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for lang, text in texts:
        found[lang].append(text)
    return found


def _excerpt(text: str, rng: random.Random) -> str:
    """Whole lines of a long host, so that the passage and its surroundings fit into a few windows."""
    if len(text) <= HOST_CHARACTERS:
        return text
    lines = text.split("\n")
    first = rng.randrange(len(lines)) if rng.random() < 0.6 else 0
    part = ""
    for line in lines[first:]:
        if len(part) + len(line) > HOST_CHARACTERS and part:
            break
        part += line + "\n"
    return part[: 2 * HOST_CHARACTERS] if len(part) > 200 else text[:HOST_CHARACTERS]


def planted_world(rows: list[Row], written: list[Row], seed: int) -> list[Row]:
    """Of each host document, as often as `HOST_SOURCES` says, one copy with an attack and one with a benign passage."""
    rng = random.Random(f"{seed}/world")
    learnt = [row for row in written if row["split"] == "train"]
    attacks = [(str(row["lang"]), str(row["text"])) for row in learnt if row["kind"] == "plant"] * 3
    keeps = [(str(row["lang"]), str(row["text"])) for row in learnt if row["kind"] == "keep"] * 3
    for row in rows:
        text, lang, source = str(row["text"]), str(row["lang"]), str(row["source"])
        if row["label"] == "injection" and "span" in row and source.startswith("authored"):
            start, end = row["span"]  # type: ignore[misc]
            if 25 <= end - start <= 600:
                attacks.append((lang, text[start:end]))
        elif source in PASSAGE_SOURCES and row["label"] == "injection" and 20 <= len(text) <= 400:
            attacks.append((lang, text))
        elif source in KEEP_SOURCES and row["label"] == "benign" and 20 <= len(text) <= 400:
            keeps.append((lang, text))
    pools = {"injection": _by_lang(attacks), "benign": _by_lang(keeps)}
    result: list[Row] = []
    for row in [*rows, *learnt]:
        source, lang = str(row["source"]), str(row["lang"])
        if row["label"] != "benign" or source not in HOST_SOURCES or len(str(row["text"])) < 120:
            continue
        for _ in range(HOST_SOURCES[source]):
            host = _excerpt(str(row["text"]), rng)
            for label, pool in pools.items():
                own = pool.get(lang) if rng.random() < 0.75 else None
                insert = rng.choice(own or pool["en"])
                text, span = put(host, insert, rng.choice(PLACES), rng)
                made: Row = {"text": text, "label": label, "source": f"planted world{' decoy' if label == 'benign' else ''}", "group": "indirect", "lang": lang}
                made["channel"] = CHANNEL_NAMES[channel_of(row)]
                result.append(made | {"span": list(span)} if label == "injection" else made)
    return result
