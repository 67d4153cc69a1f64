"""Figures: AUC, recall at a false-positive budget, Wilson intervals."""

import math

import numpy as np


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve, ties counted half; 0.5 where a class is missing."""
    hits, misses = int(positive.sum()), int((~positive).sum())
    if not hits or not misses:
        return 0.5
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return float((ranks[inverse][positive].sum() - hits * (hits + 1) / 2) / (hits * misses))


def threshold_at(benign: np.ndarray, budget: float) -> float:
    """Smallest threshold that at most `budget` of the benign scores reach."""
    ordered = np.sort(benign)[::-1]
    allowed = math.floor(budget * len(ordered) + 1e-9)
    return float(np.nextafter(ordered[allowed], np.inf)) if allowed < len(ordered) else float(ordered[-1])


def recall_at(scores: np.ndarray, positive: np.ndarray, budget: float) -> float:
    """Share of attacks found when at most `budget` of the benign texts are blocked."""
    if not positive.any() or positive.all():
        return 0.0
    return float((scores[positive] >= threshold_at(scores[~positive], budget)).mean())


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson interval of a rate (95 % by default)."""
    if total == 0:
        return 0.0, 1.0
    rate, scale = hits / total, 1 + z * z / total
    middle = (rate + z * z / (2 * total)) / scale
    half = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)
