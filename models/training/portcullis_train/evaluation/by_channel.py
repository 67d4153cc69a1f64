"""`by_channel`: a model file at an operating point, by channel and without one, and where it blocks as many honest texts as another.

Benign twins of attacks count as honest texts, but not with the threshold chosen on half of the honest sources: there, as in the budget, honest traffic counts alone. Recall and false positives are means over the sources of 20 texts or more; generated attacks count for nothing.

    python -m portcullis_train.evaluation.by_channel --data DATA --work WORK --model ../portcullis-minilm-1 --limit 100 --blocked user=0.0479 data=0.0603

`--write FILE` writes the texts that have a channel, all of them, and ends: `portcullis eval FILE --channel-field channel --task-field task --source-field source` measures rules and model together.
"""

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..data.channels import CHANNEL_NAMES, UNKNOWN
from ..data.devset import Item, channel_items, dev_items, first_of_each
from ..scoring.arguments import model_parser
from ..scoring.calibration import judged_by, rate_of
from ..scoring.protocol import left_out, mean_rate, source_rates
from ..scoring.score import Scored, key_of, score_all
from .not_english import other_languages

OTHER_LANGUAGES = "other languages"
OTHER_LIMIT = 120


def groups(args: Namespace) -> dict[str, list[Item]]:
    """Texts with their channel, by channel; the texts of dev and those in other languages without one."""
    dev = dev_items(args.data, args.limit)
    told = dev + first_of_each(channel_items(args.data), args.limit)
    others = [item for items in other_languages(args.data).values() for item in first_of_each(items, OTHER_LIMIT)]
    found = {name: [item for item in told if item.channel == channel] for channel, name in enumerate(CHANNEL_NAMES) if name in {"user", "data", "instructions"}}
    return found | {"unknown": [hidden(item) for item in dev], OTHER_LANGUAGES: [hidden(item) for item in others]}


def write_texts(items: list[Item], target: Path) -> None:
    """Texts with their channel and task as JSON Lines; those of data come as tool results."""
    with target.open("w") as out:
        for item in items:
            channel = CHANNEL_NAMES[item.channel]
            row = {"text": item.text, "label": "injection" if item.positive else "benign", "source": item.source, "language": item.lang}
            row |= {"channel": "tool_result" if channel == "data" else channel, "task": item.task or None}
            out.write(json.dumps(row) + "\n")


def hidden(item: Item) -> Item:
    """A text without its channel and task."""
    return replace(item, channel=UNKNOWN, task="")


def rates(rate: np.ndarray, items: list[Item], threshold: float) -> tuple[dict[str, float], dict[str, float]]:
    """By source, the attacks that are found and the honest texts that are blocked."""
    sources, hit = np.array([item.source for item in items]), rate >= threshold
    attack = np.array([item.positive and not item.generated for item in items])
    honest = np.array([not item.positive for item in items])
    return source_rates(hit[attack], sources[attack]), source_rates(hit[honest], sources[honest])


def threshold_at(rate: np.ndarray, items: list[Item], blocked: float) -> float:
    """The least threshold that blocks at most so many honest texts, as the mean over their sources."""
    honest = np.array([not item.positive for item in items])
    sources = np.array([item.source for item in items])[honest]
    over = [value for value in np.unique(rate[honest]) if mean_rate(rate[honest] >= value, sources) > blocked]
    return float(np.nextafter(over[-1], np.inf)) if over else 0.0


def main() -> None:
    """Command line of `by_channel`."""
    parser = model_parser(__doc__)
    parser.add_argument("--point", default="balanced")
    parser.add_argument("--blocked", nargs="*", default=[], metavar="GROUP=SHARE", help="also where so many honest texts of a group are blocked")
    parser.add_argument("--write", type=Path, help="write the texts with their channel, and end")
    args = parser.parse_args()
    if args.write:
        write_texts(channel_items(args.data), args.write)
        return
    wanted = {name: float(share) for name, share in (one.split("=") for one in args.blocked)}
    texts, manifest = groups(args), json.loads((args.model / "manifest.json").read_text())
    scores: dict[str, Scored] = score_all(args.model / "model.onnx", [item for items in texts.values() for item in items], args.work, args.workers)
    for name, items in texts.items():
        part = judged_by(manifest, items[0].channel)
        rate = np.array([rate_of(scores[key_of(item)], part["calibration"]) for item in items])
        threshold = part["operating_points"][args.point]["threshold"]
        found, blocked = rates(rate, items, threshold)
        print(f"{name} at {args.point}: found {np.mean(list(found.values())):.3f}, blocked {np.mean(list(blocked.values())):.4f}")
        counted = [index for index, item in enumerate(items) if item.budgeted or (item.positive and not item.generated)]
        for budget in (0.01, 0.02):
            recall, false_positives = left_out(rate[counted], [items[index] for index in counted], budget)
            print(f"  threshold of half of the honest sources at {budget:.0%}: found {recall:.3f}, blocked of the others {false_positives:.4f}")
        print("  found", {source: round(value, 2) for source, value in found.items()})
        print("  blocked", {source: round(value, 3) for source, value in blocked.items() if value})
        if name in wanted:
            found, _ = rates(rate, items, threshold_at(rate, items, wanted[name]))
            print(f"  at {wanted[name]:.4f} blocked: found {np.mean(list(found.values())):.3f}")


if __name__ == "__main__":
    main()
