"""Windows with a teacher's logits: written and read back, and what a student is to learn from them."""

from pathlib import Path

import numpy as np
import pytest

from portcullis_train.text.windows import CONTENT
from portcullis_train.training.label import readable
from portcullis_train.training.label_rows import rows_to_label
from portcullis_train.training.sampling import Archive, Sample, read_labelled, samples_of, write_labelled
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


def archive(lengths: list[int], logits: list[float]) -> Archive:
    """Benign rows of these lengths, each with a teacher's logit."""
    count = len(lengths)
    return Archive(
        np.arange(sum(lengths), dtype=np.int32), np.cumsum([0, *lengths]), np.full((count, 2), -1, np.int32), np.zeros(count, np.int8),
        np.array(["own x/benign"] * count), np.array(["chat"] * count), np.array(logits, np.float32),
    )  # fmt: skip


def test_a_row_that_is_one_window_has_its_logit_and_no_other() -> None:
    rows, rng = archive([10, 12, CONTENT + 40], [-1.5, np.nan, -2.0]), np.random.default_rng(1)
    assert [one.logit for one in samples_of(rows, 0, 0, rng)] == [-1.5]
    assert [one.logit for one in samples_of(rows, 1, 0, rng)] == [None]
    assert {one.logit for one in samples_of(rows, 2, 0, rng)} == {None}


def test_row_logits_of_another_archive_are_refused(tmp_path: Path) -> None:
    rows = archive([10, 12], [0, 0])
    np.savez(tmp_path / "train.npz", **{name: getattr(rows, name) for name in ("ids", "offsets", "spans", "labels", "keys", "groups")})
    np.save(tmp_path / "logits.npy", np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="has 3 rows"):
        Archive.load(tmp_path / "train.npz", tmp_path / "logits.npy")


def test_only_whole_rows_of_the_mixture_are_labelled() -> None:
    rows = archive([10, 0, CONTENT + 1], [0, 0, 0])
    mixture = {"default_cap": 5, "sources": {}, "own": {"repeat": 1}}
    assert rows_to_label(rows, mixture, ("",)).tolist() == [0]
    assert rows_to_label(rows, mixture, ("translated",)).tolist() == []
    assert rows_to_label(rows, mixture | {"sources": {"own x/benign": {"cap": 0}}}, ("",)).tolist() == []
