"""`channels`: weights against one another by channel, in fp32 or bf16, all windows, each text with its channel and its task.

The texts are those of `world-dev`, of the sources of dev that other people wrote, of `world-3-dev`, and the dev parts of the authored texts with
a channel. A channel has thresholds of its own. Weights joined by `+` are judged by the sum of their logits; `--plain` hides channel and task,
for a control.

    python -m portcullis_train.evaluation.channels --data DATA --work WORK runs/c1/weights.pt+runs/ng3/weights.pt
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from ..data.channels import CHANNEL_NAMES, DATA, INSTRUCTIONS, USER
from ..data.devset import Item, channel_items, first_of_each, world_items
from ..scoring.metrics import auc
from ..scoring.protocol import source_rates, threshold_for
from ..training.sampling import plain
from ..training.train import quick_scores
from .trial import greatest_of, load, windows_of

BUDGETS = (0.01, 0.02, 0.05)


def figures(score: np.ndarray, items: Sequence[Item]) -> list[str]:
    """By channel: the area under the curve; recall at each budget, mean over sources; what stands behind it at the middle one, by source."""
    lines = []
    for channel in (USER, DATA, INSTRUCTIONS):
        inside = np.array([item.channel == channel for item in items])
        own, rows = [item for item in items if item.channel == channel], score[inside]
        positive = np.array([item.positive for item in own])
        sources = np.array([item.source for item in own])
        lines.append(f"{CHANNEL_NAMES[channel]}: {positive.sum()} attacks, {(~positive).sum()} benign, AUC {auc(rows, positive):.3f}")
        for budget in BUDGETS:
            threshold = threshold_for(rows[~positive], sources[~positive], budget)
            found = source_rates(rows[positive] >= threshold, sources[positive])
            lines.append(f"  {budget:.0%} (threshold {threshold:+.2f}): recall {np.mean(list(found.values())):.3f}, all texts {(rows[positive] >= threshold).mean():.3f}")
            if budget == BUDGETS[1]:
                blocked = source_rates(rows[~positive] >= threshold, sources[~positive])
                lines.append("    found " + ", ".join(f"{name} {rate:.2f}" for name, rate in found.items()))
                lines.append("    blocked " + ", ".join(f"{name} {rate:.3f}" for name, rate in blocked.items()))
    return lines


def twins(score: np.ndarray, items: Sequence[Item]) -> str:
    """The area under the curve of authored orders in data against orders of users, people's requests in data, and delegated orders."""
    kinds = {kind: np.array([item.source.endswith(kind) for item in items]) for kind in ("order", "user_order", "data_human", "delegated")}
    attack = np.array([item.positive and item.channel == DATA and item.authored for item in items])
    pairs = (("users' orders", kinds["user_order"]), ("requests for people", kinds["data_human"]), ("delegated", kinds["delegated"]))
    parts = []
    for name, benign in pairs:
        chosen = attack | benign
        parts.append(f"{name} {auc(score[chosen], attack[chosen]):.3f}")
    return "authored orders in data against " + ", ".join(parts)


def main() -> None:
    """Command line of `channels`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--each", type=int, help="at most so many texts a source and label")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--plain", action="store_true", help="hide channel and task")
    parser.add_argument("weights", nargs="+", help="FILE or FILE+FILE, under WORK")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    items = first_of_each(world_items(args.data) + channel_items(args.data), args.each)
    samples, texts = windows_of(args.work / "tokenizer.json", items)
    if args.plain:
        samples = [plain(sample) for sample in samples]
    known: dict[str, np.ndarray] = {}
    for group in args.weights:
        names = group.split("+")
        for name in names:
            if name not in known:
                known[name] = quick_scores(load(args.work / name), samples, torch.device("cpu"))
        score = greatest_of(np.sum([known[name] for name in names], axis=0), texts)
        print(group, *figures(score, items), twins(score, items), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
