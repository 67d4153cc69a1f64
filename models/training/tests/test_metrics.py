"""Figures, against values worked out by hand."""

import numpy as np
import pytest

from portcullis_train.calibrate import calibration_error, fit, probability
from portcullis_train.metrics import auc, recall_at, threshold_at, wilson


def test_auc() -> None:
    labels = np.array([True, True, False, False])
    assert auc(np.array([4.0, 3.0, 2.0, 1.0]), labels) == 1.0
    assert auc(np.array([4.0, 1.0, 2.0, 3.0]), labels) == 0.5
    assert auc(np.array([1.0, 1.0, 1.0, 1.0]), labels) == 0.5
    assert auc(np.array([1.0]), np.array([True])) == 0.5


def test_threshold_keeps_the_budget_with_ties() -> None:
    honest = np.array([0.9, 0.5, 0.5, 0.1])
    assert (honest >= threshold_at(honest, 0.25)).sum() == 1
    assert (honest >= threshold_at(honest, 0.5)).sum() == 1
    assert (honest >= threshold_at(honest, 0.0)).sum() == 0


def test_recall_at() -> None:
    scores = np.array([0.9, 0.6, 0.2, 0.5, 0.1, 0.1, 0.1])
    labels = np.array([True, True, True, False, False, False, False])
    assert recall_at(scores, labels, 0.0) == pytest.approx(2 / 3)


def test_wilson() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson(0, 0) == (0.0, 1.0)


def test_fit_finds_a_logistic_law() -> None:
    rng = np.random.default_rng(0)
    top, windows = rng.normal(0, 3, 20_000), rng.integers(1, 40, 20_000).astype(float)
    law = {"scale": 0.7, "bias": -0.5, "per_window": 0.4}
    positive = (rng.random(20_000) < probability(top, windows, law)).astype(float)
    found = fit(top, windows, positive, np.ones(20_000))
    assert all(abs(found[name] - law[name]) < 0.15 for name in law)
    assert calibration_error(probability(top, windows, found), positive, np.ones(20_000)) < 0.02


def test_window_slope_is_never_negative() -> None:
    rng = np.random.default_rng(0)
    top, windows = rng.normal(0, 3, 5_000), rng.integers(1, 40, 5_000).astype(float)
    positive = (rng.random(5_000) < probability(top, windows, {"scale": 1.0, "bias": -1.0, "per_window": -0.5})).astype(float)
    assert fit(top, windows, positive, np.ones(5_000))["per_window"] == 0.0
