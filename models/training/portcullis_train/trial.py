"""`trial`: weights against one another on a sample of dev, in fp32, one window a text. For choosing, not for the card."""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from .calibrate import source_threshold
from .devset import Item, dev_items, insert_items
from .encode import encode, load_tokenizer
from .metrics import auc, recall_at
from .net import Screener
from .sampling import Sample
from .train import quick_scores
from .windows import CONTENT

HERE = Path(__file__).resolve().parent.parent
PARTS = {
    "dev, English": (False, True),
    "dev, other languages": (False, False),
    "authored, English": (True, True),
    "authored, other languages": (True, False),
}


def sample(items: list[Item], each: int) -> list[Item]:
    """All authored texts and all that are not English; of the others the first `each` of a source and label."""
    counts: Counter[tuple[str, bool]] = Counter()
    kept = []
    for item in items:
        counts[item.source, item.positive] += 1
        if item.authored or item.lang != "en" or counts[item.source, item.positive] <= each:
            kept.append(item)
    return kept


def logits_of(weights: Path, tokenizer: Path, items: list[Item]) -> np.ndarray:
    """Document logits of the texts' first windows."""
    stored = torch.load(weights, map_location="cpu")
    net = Screener(len(stored["words.weight"]))
    net.load_state_dict(stored)
    pieces = load_tokenizer(tokenizer)
    texts = [np.array(encode(pieces, item.text)[:CONTENT]) for item in items]
    return quick_scores(net, [Sample(ids, 0, None) for ids in texts], torch.device("cpu"))


def threshold_of(logits: np.ndarray, items: list[Item]) -> float:
    """The logit that blocks 1 % of benign English dev texts."""
    english = [index for index, item in enumerate(items) if item.lang == "en"]
    return source_threshold(logits[english], [items[index] for index in english], 0.01)


def inserts(logits: np.ndarray, items: list[Item], threshold: float) -> list[str]:
    """AUC of the inserted passages in English and not, and the share of each family at or over the threshold."""
    positive = np.array([item.positive for item in items])
    families = np.array([item.source.removeprefix("insert ") for item in items])
    lines = []
    for name, in_english in (("English", True), ("other languages", False)):
        part = np.array([(item.lang == "en") == in_english for item in items])
        shown = ", ".join(f"{one} {(logits[families == one] >= threshold).mean():.2f}" for one in sorted(set(families[part])))
        lines.append(f"inserted, {name}: AUC {auc(logits[part], positive[part]):.4f}, at or over the threshold {shown}")
    return lines


def report(logits: np.ndarray, items: list[Item], threshold: float) -> list[str]:
    """A line for each part: AUC; attacks found (mean of sources, and of all) and benign texts blocked at the threshold; recall at 2 %."""
    positive = np.array([item.positive for item in items])
    sources = np.array([item.source for item in items])
    hit = logits >= threshold
    lines = []
    for name, (authored, in_english) in PARTS.items():
        part = np.array([item.authored == authored and (item.lang == "en") == in_english for item in items])
        found, benign = hit[part & positive].mean(), hit[part & ~positive].mean()
        each = np.mean([hit[part & positive & (sources == source)].mean() for source in set(sources[part & positive])])
        own = f"at 2 % of these {recall_at(logits[part], positive[part], 0.02):.2f}"
        lines.append(f"{name}: AUC {auc(logits[part], positive[part]):.4f}, found {each:.3f} / {found:.2f}, blocked {benign:.2f}, {own}")
    bipia = positive & (sources == "BIPIA train")
    lines.append(f"BIPIA train: found {hit[bipia].mean():.2f} of {bipia.sum()}")
    return lines


def main() -> None:
    """Command line of `trial`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--each", type=int, default=25)
    parser.add_argument("weights", nargs="+", help="WEIGHTS=TOKENIZER, two files")
    args = parser.parse_args()
    items = sample(dev_items(args.data, HERE / "data"), args.each)
    apart = insert_items(args.data, HERE / "data")
    for part in args.weights:
        weights, tokenizer = map(Path, part.split("="))
        logits = logits_of(weights, tokenizer, items)
        threshold = threshold_of(logits, items)
        lines = report(logits, items, threshold) + inserts(logits_of(weights, tokenizer, apart), apart, threshold)
        print(weights.name, *lines, sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
