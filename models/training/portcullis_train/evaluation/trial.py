"""`trial`: weights against one another by the world protocol (`protocol.py`), in fp32 or bf16, all windows. For choosing, not for the card.

Several weights joined by `+` are judged by the mean of their logits in each window.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from ..data.devset import Item, first_of_each, insert_items, item_of, world_items
from ..data.rows import read_rows
from ..scoring.protocol import curve, left_out, source_rates, threshold_for
from ..text.encode import encode, load_tokenizer
from ..text.windows import CONTENT, TASK, window_starts
from ..training.net import screener
from ..training.ngrams import load_ngrams
from ..training.sampling import Sample
from ..training.train import quick_scores

BUDGET = 0.015


def authored_items(data: Path) -> list[Item]:
    """The authored texts of both sets that training leaves out."""
    rows = [row for name in ("authored", "authored-2") for row in read_rows(data / f"{name}.jsonl.gz")]
    return [item_of(row) for row in rows if row["split"] == "dev"]


class Ngrams(torch.nn.Module):
    """The linear model of n-grams behind the interface of `Screener`."""

    def __init__(self, weights: Path) -> None:
        super().__init__()
        self.model = load_ngrams(weights)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor, channel: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.model(ids, mask * (1 - types), channel), torch.zeros(ids.shape)


def load(weights: Path) -> torch.nn.Module:
    """A net, or a linear model of n-grams if the weights are those of one."""
    stored = torch.load(weights, map_location="cpu")
    stored = stored.get("net", stored)
    if "table.weight" in stored:
        return Ngrams(weights)
    return screener(stored)


def windows_of(tokenizer: Path, items: list[Item]) -> tuple[list[Sample], np.ndarray]:
    """The windows of all texts, and the number of the text that each belongs to."""
    pieces = load_tokenizer(tokenizer)
    texts = [np.array(encode(pieces, item.text)) for item in items]
    tasks = [np.array(encode(pieces, item.task)[-TASK:]) for item in items]
    windows = [(text, start) for text, ids in enumerate(texts) for start in window_starts(len(ids))]
    samples = [Sample(texts[text][start : start + CONTENT], 0, None, items[text].channel, tasks[text]) for text, start in windows]
    return samples, np.array([text for text, _ in windows])


def greatest_of(logits: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """The greatest window logit of each text."""
    greatest = np.full(texts.max() + 1, -np.inf)
    np.maximum.at(greatest, texts, logits)
    return greatest


def report(logits: dict[str, np.ndarray], texts: dict[str, list[Item]]) -> list[str]:
    """The curve over world sources, the same with sources left out; at the threshold of 1.5 %: each source, and the other texts."""
    world, world_texts = logits["world"], texts["world"]
    positive = np.array([item.positive for item in world_texts])
    sources = np.array([item.source for item in world_texts])
    threshold = threshold_for(world[~positive], sources[~positive], BUDGET)
    lines = [
        f"world {curve(world, world_texts)}",
        f"left out: 1 % {left_out(world, world_texts, 0.01)}, 2.5 % {left_out(world, world_texts, 0.025)}",
        f"found at 1.5 %: { ({name: round(rate, 2) for name, rate in source_rates(world[positive] >= threshold, sources[positive]).items()}) }",
        f"blocked: { ({name: round(rate, 3) for name, rate in source_rates(world[~positive] >= threshold, sources[~positive]).items()}) }",
    ]
    for name in ("authored", "inserted"):
        attack, hit = np.array([item.positive for item in texts[name]]), logits[name] >= threshold
        lines.append(f"{name}: found {hit[attack].mean():.3f}, blocked {hit[~attack].mean():.3f}")
    return lines


def main() -> None:
    """Command line of `trial`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--each", type=int, help="at most so many texts a source and label")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("weights", nargs="+", help="FILE or FILE+FILE, under WORK")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tokenizer = args.work / "tokenizer.json"
    texts = {"world": world_items(args.data), "authored": authored_items(args.data), "inserted": insert_items(args.data)}
    texts = {name: first_of_each(items, args.each) for name, items in texts.items()}
    windows = {part: windows_of(tokenizer, items) for part, items in texts.items()}
    known: dict[str, dict[str, np.ndarray]] = {}
    for group in args.weights:
        names = group.split("+")
        for name in names:
            if name not in known:
                net = load(args.work / name)
                known[name] = {part: quick_scores(net, samples, torch.device("cpu")) for part, (samples, _) in windows.items()}
        logits = {part: greatest_of(np.mean([known[name][part] for name in names], axis=0), windows[part][1]) for part in texts}
        print(group, *report(logits, texts), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
