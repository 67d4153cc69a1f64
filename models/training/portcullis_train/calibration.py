"""The calibration's law: from a window's logit, its sureness and the number of windows to a probability, and its fit."""

import numpy as np

from .score import Scored

# Attacks reach this sureness, honest windows hardly ever: there a long text is judged like a short one.
SURE = 3.5


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
    """Weighted logistic regression by Newton's method, slopes held at their sensible sign."""
    columns = np.stack([top, np.ones_like(top), -doubts], 1)
    active = [0, 1, 2]
    for _ in range(2):
        beta = np.zeros(3)
        for _ in range(60):
            inner = columns[:, active]
            rate = 1 / (1 + np.exp(-np.clip(inner @ beta[active], -30, 30)))
            slope = inner.T @ (weights * (positive - rate)) - 1e-4 * beta[active]
            curve = (inner * (weights * rate * (1 - rate))[:, None]).T @ inner + 1e-4 * np.eye(len(active))
            beta[active] += np.clip(np.linalg.solve(curve, slope), -1, 1)
        if beta[2] >= 0:
            break
        active = [0, 1]
    return {"scale": round(float(beta[0]), 6), "bias": round(float(beta[1]), 6), "per_window": round(float(beta[2]), 6), "sure": SURE}


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
