"""`peer`: what an open peer blocks of labelled texts, by source and label, to set beside `npm run bench -- detection`.

Run it in an environment of its own that has `stackone-defender[onnx]==0.9.4`; it needs nothing else of this
pipeline. The same texts as the bench's are chosen: by source and label, those whose SHA-256 is smallest.
"""

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from importlib.metadata import version
from pathlib import Path

PEER = "stackone-defender"


def chosen_rows(path: Path, per: int) -> list[dict[str, str]]:
    """At most `per` rows of each source and label."""
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    rows.sort(key=lambda row: hashlib.sha256(row["text"].encode()).hexdigest())
    counts: Counter[tuple[str, str]] = Counter()
    kept = []
    for row in rows:
        counts[row["source"], row["label"]] += 1
        if counts[row["source"], row["label"]] <= per:
            kept.append(row)
    return kept


def main() -> None:
    """Command line of `peer`."""
    from stackone_defender import create_prompt_defense

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="labelled texts, JSONL")
    parser.add_argument("--per", type=int, default=45)
    parser.add_argument("--record", type=Path, required=True, help="where the figures go, JSON")
    args = parser.parse_args()

    defense = create_prompt_defense(block_high_risk=True)
    defense.warmup_tier2()
    cells: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in chosen_rows(args.data, args.per):
        answer = defense.defend_tool_result(row["text"], "tool")
        cell = cells[row["label"], row["source"]]
        cell[0] += 1
        cell[1] += not answer.allowed
    sources = [{"source": source, "label": label, "n": n, "blocked": hit} for (label, source), (n, hit) in sorted(cells.items())]
    means = {
        label: round(sum(one["blocked"] / one["n"] for one in part) / len(part), 4)
        for label in ("injection", "benign")
        if (part := [one for one in sources if one["label"] == label])
    }
    record = {"peer": f"{PEER} {version(PEER)}", "data": args.data.name, "per": args.per, "mean_blocked": means, "sources": sources}
    args.record.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    print(json.dumps(means))


if __name__ == "__main__":
    main()
