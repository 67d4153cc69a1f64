"""The calibration's law: from a window's logit, its sureness and the number of windows to a probability, and its fit."""

import numpy as np

from .score import Scored

# Chosen by their rates in texts of 4, 12 and 75 windows (record/long-documents.md): likelihood, which the many plain
# windows rule, says little of the few hot ones.
PER_WINDOW, SURE = 0.2, 5.0
# Operating points, by the share of benign texts that each may block: the mean over the benign sources of `world-dev`, of those of
# `dev` that no generator made, and of `data/calibration.jsonl` (record/ngrams.md).
BUDGETS = {"strict": 0.02, "balanced": 0.01, "permissive": 0.003}
# Below it the model clears a finding of the rules that is not certain: docs/decisions/2026-11-22-clearing.md.
CLEARS_BELOW = 0.18
# Honest files for agents have strict rules, and honest users quote and play: the rules take both for attacks.
CHANNEL_CLEARS_BELOW = {"instructions": 0.5, "user": 0.6}
# Log-odds that a rules' score of 1 adds to the model's probability: record/stacking.md.
RULES_WEIGHT = 0


def judged_by(manifest: dict, channel: int) -> dict:
    """The part of a manifest with the calibration and the operating points of a channel; the manifest itself for one that is unknown."""
    return next((part for part in manifest.get("channels", {}).values() if part["id"] == channel), manifest)


def doubt(sure: np.ndarray, windows: np.ndarray, level: float | None) -> np.ndarray:
    """How much stricter a window of a long text is judged, before its weight: nothing where the token head is sure."""
    return np.log(windows) * (1 if level is None else np.maximum(0, level - sure))


def log_odds(top: np.ndarray, sure: np.ndarray, windows: np.ndarray, calibration: dict[str, float]) -> np.ndarray:
    """Calibrated log-odds of windows."""
    strictness = calibration["per_window"] * doubt(sure, windows, calibration.get("sure"))
    return calibration["scale"] * top + calibration["bias"] - strictness


def probability(top: np.ndarray, sure: np.ndarray, windows: np.ndarray, calibration: dict[str, float]) -> np.ndarray:
    """Calibrated probability of windows; the runtime has the same line."""
    return 1 / (1 + np.exp(-log_odds(top, sure, windows, calibration)))


def worst_window(logits: np.ndarray, sure: np.ndarray, calibration: dict[str, float]) -> int:
    """The window that decides."""
    return int(log_odds(logits, sure, np.full(len(logits), len(logits)), calibration).argmax())


def rate_of(scored: Scored, calibration: dict[str, float]) -> float:
    """Calibrated probability of a text."""
    top, sure = np.array(scored.logits), np.array(scored.sure)
    return float(probability(top, sure, np.full(len(top), len(top)), calibration).max())


def fit(top: np.ndarray, doubts: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """Weighted logistic regression of scale and bias by Newton's method, the strictness for long texts given."""
    columns = np.stack([top, np.ones_like(top)], 1)
    beta = np.zeros(2)
    for _ in range(60):
        rate = 1 / (1 + np.exp(-np.clip(columns @ beta - PER_WINDOW * doubts, -30, 30)))
        slope = columns.T @ (weights * (positive - rate)) - 1e-4 * beta
        curve = (columns * (weights * rate * (1 - rate))[:, None]).T @ columns + 1e-4 * np.eye(2)
        beta += np.clip(np.linalg.solve(curve, slope), -1, 1)
    return {"scale": round(float(beta[0]), 6), "bias": round(float(beta[1]), 6), "per_window": PER_WINDOW, "sure": SURE}


def calibration_error(rate: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> float:
    """Expected calibration error over ten bins, weighted."""
    bins = np.minimum((rate * 10).astype(int), 9)
    total = 0.0
    for one in range(10):
        part = bins == one
        if part.any():
            weight = weights[part].sum()
            total += weight * abs(np.average(rate[part], weights=weights[part]) - np.average(positive[part], weights=weights[part]))
    return float(total / weights.sum())
