"""The figure that choices are made by: world texts, averaged over sources.

*World* sources were written by other people than those of the training texts: all of `world-dev`, and of `dev` the sources that
no generator of this project made. Recall is the mean over attack sources, the false-positive rate the mean over benign sources.
A choice is confirmed by leaving sources out: the threshold of one half of the benign sources, the rates of the other half.
"""

from collections import Counter
from itertools import combinations, islice
from math import comb

import numpy as np

from ..data.devset import Item

BUDGETS = (0.005, 0.01, 0.015, 0.025, 0.05)
# A rate of fewer texts is noise: one false positive among 18 would weigh as much as forty among 720.
SMALLEST = 20
LEFT_OUT = 200
# Half of 24 sources can be chosen in 2.7 million ways; of more, listing them takes too long.
LISTED = 24


def source_rates(hit: np.ndarray, sources: np.ndarray) -> dict[str, float]:
    """Share of hits by source, sources of fewer than `SMALLEST` texts left out."""
    return {name: float(hit[sources == name].mean()) for name, count in sorted(Counter(sources.tolist()).items()) if count >= SMALLEST}


def mean_rate(hit: np.ndarray, sources: np.ndarray) -> float:
    """Mean over sources of the share of hits."""
    return float(np.mean(list(source_rates(hit, sources).values())))


def threshold_for(score: np.ndarray, sources: np.ndarray, budget: float) -> float:
    """Smallest threshold at which at most `budget` of the benign texts are blocked, as the mean over their sources."""
    counts = Counter(sources.tolist())
    weight = np.array([1 / counts[name] if counts[name] >= SMALLEST else 0.0 for name in sources.tolist()])
    weight /= weight.sum()
    order = np.argsort(-score, kind="stable")
    blocked = np.cumsum(weight[order])
    first = int(np.searchsorted(blocked, budget + 1e-12, side="right"))
    return float(np.nextafter(score[order[first]], np.inf)) if first < len(order) else float(score.min())


def curve(score: np.ndarray, items: list[Item]) -> dict[str, float]:
    """Recall, mean over sources, at each budget."""
    positive = np.array([item.positive for item in items])
    sources = np.array([item.source for item in items])
    return {
        f"{budget:.1%}": round(mean_rate(score[positive] >= threshold_for(score[~positive], sources[~positive], budget), sources[positive]), 4)
        for budget in BUDGETS
    }


def halves(sources: list[str]) -> list[tuple[str, ...]]:
    """Some `LEFT_OUT` of the ways to choose half of the sources: at even steps through all of them, or drawn where there are too many to list."""
    size = len(sources) // 2
    if len(sources) > LISTED:
        rng = np.random.default_rng(1)
        return [tuple(rng.permutation(sources)[:size].tolist()) for _ in range(LEFT_OUT)]
    return list(islice(combinations(sources, size), 0, None, max(1, comb(len(sources), size) // LEFT_OUT)))


def left_out(score: np.ndarray, items: list[Item], budget: float) -> tuple[float, float]:
    """Recall and false positives on sources that the threshold was not chosen on, mean over ways to halve the benign sources."""
    positive = np.array([item.positive for item in items])
    sources = np.array([item.source for item in items])
    benign = sorted(source_rates(~positive[~positive], sources[~positive]))
    rows = []
    for half in halves(benign):
        inside = ~positive & np.isin(sources, half)
        outside = ~positive & np.isin(sources, [name for name in benign if name not in half])
        threshold = threshold_for(score[inside], sources[inside], budget)
        rows.append((mean_rate(score[positive] >= threshold, sources[positive]), mean_rate(score[outside] >= threshold, sources[outside])))
    recall, false_positives = np.mean(rows, axis=0)
    return round(float(recall), 4), round(float(false_positives), 4)
