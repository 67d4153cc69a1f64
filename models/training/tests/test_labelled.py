"""Windows with a teacher's logits: written and read back, and what a student is to learn from them."""

from pathlib import Path

import numpy as np
import pytest

from portcullis_train.training.label import readable
from portcullis_train.training.sampling import Sample, read_labelled, write_labelled
from portcullis_train.training.train import goal


def test_windows_come_back_as_they_were_written(tmp_path: Path) -> None:
    samples = [
        Sample(np.array([5, 6, 7]), 1, (1, 3), -0.5),
        Sample(np.array([8]), 0, (0, 0), None),
        Sample(np.array([9, 10]), 1, None, 2.0),
    ]
    write_labelled(tmp_path / "windows.npz", samples)
    back = read_labelled(tmp_path / "windows.npz")
    assert [(one.ids.tolist(), one.label, one.span, one.logit) for one in back] == [
        ([5, 6, 7], 1, (1, 3), -0.5),
        ([8], 0, (0, 0), None),
        ([9, 10], 1, None, 2.0),
    ]


def test_the_teacher_moves_the_goal_and_does_not_replace_the_label() -> None:
    ids = np.array([5])
    alone = goal(Sample(ids, 1, None))
    assert alone == pytest.approx(0.99)
    doubted = goal(Sample(ids, 1, None, -4.0))
    assert 0.2 < doubted < 0.4
    assert goal(Sample(ids, 0, None, -4.0)) < doubted
    assert goal(Sample(ids, 1, None, 6.0)) > 0.98


def test_a_window_of_unknown_pieces_is_not_read() -> None:
    table = np.array([100, 101, 102, 0, 0])
    samples = [Sample(np.array([0, 1, 2]), 1, None), Sample(np.array([1, 3, 4]), 1, None)]
    assert readable(samples, table, 0).tolist() == [True, False]
