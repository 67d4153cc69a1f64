"""`python -m portcullis_train.evaluation.compare OLD NEW`: two evaluations of the same dev texts side by side, in Markdown."""

import argparse
import json
from pathlib import Path

SUMS = {
    "recall, mean of sources": "recall_mean_of_sources",
    "false positives, mean of sources": "false_positives_mean_of_sources",
    "authored: recall": "authored_recall_mean_of_sources",
    "authored: false positives": "authored_false_positives_mean_of_sources",
}


def rows_of(record: dict, point: str) -> dict[str, str]:
    """The figures of one evaluation, by name."""
    found = record["operating_points"][point]
    rows = {f"`{name}`, {title}": f"{figures[field]:.1%}" for name, figures in record["operating_points"].items() for title, field in SUMS.items()}
    for part, ranking in record["ranking"].items():
        rows[f"{part}: AUC (n = {ranking['n']})"] = f"{ranking['auc']:.3f}"
        rows[f"{part}: recall at 1 %"] = f"{ranking['recall_at_0.01']:.1%}"
    for name in sorted(found):
        if name.startswith("buried_in_"):
            for label, cell in found[name].items():
                rows[f"{name.replace('_', ' ')}, {label}"] = f"{cell['blocked']} of {cell['n']}"
    for key, cell in found["lang"].items():
        if cell["n"] >= 10:
            rows[f"language {key}"] = f"{cell['rate']:.1%} (n = {cell['n']})"
    return rows


def main() -> None:
    """Command line of `compare`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, help="evaluation.json")
    parser.add_argument("new", type=Path, help="evaluation.json")
    parser.add_argument("--point", default="balanced")
    args = parser.parse_args()
    old, new = (json.loads(path.read_text()) for path in (args.old, args.new))
    texts = ("dev_sha256", "own_sha256", "limit_per_source_and_label")
    if any(old.get(name) != new.get(name) for name in texts):
        raise SystemExit("the two were measured on other texts")
    first, second = rows_of(old, args.point), rows_of(new, args.point)
    print(f"| At `{args.point}` | old | new |\n| - | -: | -: |")
    for name in first:
        print(f"| {name} | {first[name]} | {second.get(name, '–')} |")


if __name__ == "__main__":
    main()
