"""Figures, against values worked out by hand."""

import numpy as np
import pytest

from portcullis_train.scoring.calibration import PER_WINDOW, SURE, calibration_error, doubt, fit, probability, rate_of, worst_window
from portcullis_train.scoring.metrics import auc, recall_at, threshold_at, wilson
from portcullis_train.scoring.score import Scored, sureness


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


def features(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, sureness and numbers of windows by chance."""
    rng = np.random.default_rng(0)
    return rng.normal(0, 3, number), rng.normal(2.5, 1, number), rng.integers(1, 40, number).astype(float)


def test_fit_finds_a_logistic_law() -> None:
    top, sure, windows = features(20_000)
    law = {"scale": 0.7, "bias": -0.5, "per_window": PER_WINDOW, "sure": SURE}
    positive = (np.random.default_rng(1).random(20_000) < probability(top, sure, windows, law)).astype(float)
    found = fit(top, doubt(sure, windows, SURE), positive, np.ones(20_000))
    assert all(abs(found[name] - law[name]) < 0.15 for name in law)
    assert calibration_error(probability(top, sure, windows, found), positive, np.ones(20_000)) < 0.02


def test_a_sure_window_counts_in_a_long_text_as_in_a_short_one() -> None:
    law = {"scale": 1.0, "bias": 0.0, "per_window": 0.5, "sure": SURE}
    rate = {
        (sure, count): rate_of(Scored([-9.0] * (count - 1) + [2.0], [sure] * count, 0, 0.0, 9), law)
        for sure in (SURE + 0.1, 0.0)
        for count in (1, 70)
    }
    assert rate[SURE + 0.1, 1] == rate[SURE + 0.1, 70] == rate[0.0, 1]
    assert rate[0.0, 70] < 0.02


def test_the_window_that_decides_need_not_be_the_hottest() -> None:
    law = {"scale": 1.0, "bias": 0.0, "per_window": 0.5, "sure": SURE}
    assert worst_window(np.array([3.0, 2.5]), np.array([0.0, 4.0]), law) == 1


def test_sureness_is_the_mean_of_the_greatest_tokens() -> None:
    assert sureness(np.arange(20, dtype=np.float32)) == 15.5
    assert sureness(np.array([1.0, 3.0], np.float32)) == 2.0
    assert sureness(np.array([], np.float32)) == 0.0
