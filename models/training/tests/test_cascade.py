"""Cascades, and the tokenizer that a network is scored with."""

from pathlib import Path

import numpy as np

from portcullis_train.data.devset import Item
from portcullis_train.release.calibrate import source_threshold
from portcullis_train.release.cascade import FURTHER, near, odds, shift_for, together
from portcullis_train.scoring.score import tokenizer_of


def test_the_shifted_second_network_keeps_the_budget_at_the_released_threshold() -> None:
    items = [Item(str(number), False, f"source {number % 3}", "document", "de", None) for number in range(300)]
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, len(items)))
    point = {"threshold": 0.8, "budget": 0.1}
    shift = shift_for(first, second, 0.6, items, point)
    assert np.isclose(source_threshold(together(first, second + shift, 0.6), items, 0.1), odds(0.8))
    assert shift_for(first, second, 0, items, point) == 0


def test_the_shift_of_a_channel_stays_near_that_of_texts_without_one() -> None:
    assert near(0.2, 0.4) == 0.2
    assert near(4.0, 0.4) == 0.4 + FURTHER
    assert near(-4.0, 0.4) == 0.4 - FURTHER


def test_the_second_network_has_a_tokenizer_of_its_own(tmp_path: Path) -> None:
    for name in ("tokenizer.json", "deep-tokenizer.json"):
        (tmp_path / name).write_text("{}")
    work = tmp_path / "work"
    assert tokenizer_of(tmp_path / "model.onnx", work).name == "tokenizer.json"
    assert tokenizer_of(tmp_path / "deep-model.onnx", work).name == "deep-tokenizer.json"
    assert tokenizer_of(tmp_path / "model-fp32.onnx", work) == work / "tokenizer.json"
