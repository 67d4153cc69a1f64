"""Figures on texts that are not English."""

from pathlib import Path

import numpy as np

from portcullis_train.data.devset import Item
from portcullis_train.evaluation.not_english import figures, work_of


def items(labels: list[bool], source: str = "s") -> list[Item]:
    return [Item(str(number), label, source, "chat", "tr", None) for number, label in enumerate(labels)]


def test_thresholds_come_from_the_benign_texts_of_three_sets() -> None:
    sets = {
        "authored": items([True, False]), "own": items([True, False]), "dev": items([True, True, False], "turkish_corpus"),
        "blind": items([True, False]), "calibration": items([False] * 98),
    }  # fmt: skip
    logits = {
        "authored": np.array([5.0, 4.5]), "own": np.array([-1.0, -2.0]), "dev": np.array([5.0, 0.0, 1.0]),
        "blind": np.array([5.0, 4.0]), "calibration": np.linspace(-3, -2, 98),
    }  # fmt: skip
    area, at_one, *_ = figures(logits, sets)
    assert area == "AUC authored 1.000, own 1.000, dev 0.500, blind 1.000"
    # One of a hundred benign texts may pass: that of `blind` at 4, not that of `dev` at 1.
    assert at_one == "1%: authored 100% / 100%, own 0% / 0%, dev 50% / 0%, blind 100% / 100%, Turkish 50% / 0%"


def test_the_work_folder_is_found_from_the_weights() -> None:
    assert work_of(Path("/w/runs/s5/weights.pt")) == Path("/w")
