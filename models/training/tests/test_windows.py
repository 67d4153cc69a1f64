"""Windows cover every token, and the labels follow the span."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from portcullis_train.text.windows import CONTENT, STRIDE, covered, window_starts
from portcullis_train.training.sampling import Archive, clean_window, positive_window, read_mixture, round_samples, samples_of, share


@pytest.mark.parametrize(
    ("tokens", "starts"),
    [(0, [0]), (1, [0]), (254, [0]), (255, [0, 1]), (446, [0, 192]), (447, [0, 192, 193]), (700, [0, 192, 384, 446])],
)
def test_starts(tokens: int, starts: list[int]) -> None:
    assert window_starts(tokens) == starts


def test_every_token_is_seen_and_neighbours_overlap() -> None:
    for tokens in range(255, 1500, 7):
        starts = window_starts(tokens)
        assert starts[-1] + CONTENT == tokens
        assert all(0 < after - before <= STRIDE for before, after in pairwise(starts))


@pytest.mark.parametrize(("start", "end", "share"), [(0, 10, 0.0), (0, 15, 0.5), (0, 20, 1.0), (12, 14, 0.2), (30, 40, 0.0)])
def test_covered(start: int, end: int, share: float) -> None:
    assert covered(start, end, (10, 20)) == pytest.approx(share)


def test_positive_window_holds_the_span() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        length = int(rng.integers(20, 900))
        begin = int(rng.integers(0, length - 10))
        span = (begin, min(length, begin + int(rng.integers(3, 200))))
        start, end = positive_window(length, span, rng)
        assert 0 <= start < end <= length and end - start <= CONTENT
        assert covered(start, end, span) == 1.0


def test_positive_window_lies_inside_a_longer_span() -> None:
    start, end = positive_window(900, (100, 800), np.random.default_rng(0))
    assert 100 <= start and end <= 800 and end - start == CONTENT


def test_clean_window_does_not_touch_the_span() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        window = clean_window(600, (300, 340), rng)
        assert window and covered(*window, (300, 340)) == 0.0
    assert clean_window(60, (10, 50), rng) is None


def archive(rows: list[tuple[int, int, tuple[int, int], str, str]]) -> Archive:
    """Rows of (length, label, span, key, group)."""
    offsets = np.cumsum([0] + [row[0] for row in rows])
    return Archive(
        np.arange(offsets[-1], dtype=np.int32),
        offsets,
        np.array([row[2] for row in rows]),
        np.array([row[1] for row in rows]),
        np.array([row[3] for row in rows]),
        np.array([row[4] for row in rows]),
        np.zeros(len(rows), np.int8),
        np.zeros(0, np.int32),
        np.zeros(len(rows) + 1, np.int64),
    )


def test_labels_of_samples() -> None:
    none = (-1, -1)
    stored = archive(
        [
            (600, 1, (300, 330), "a/injection", "indirect"),
            (100, 1, none, "b/injection", "direct"),
            (600, 1, none, "c/injection", "indirect"),
            (600, 1, none, "d/injection", "jailbreak"),
            (600, 0, none, "e/benign", "document"),
        ]
    )
    rng = np.random.default_rng(0)
    planted = samples_of(stored, 0, 1.0, rng)
    assert [sample.label for sample in planted] == [1, 0]
    assert planted[0].span and planted[0].span[1] - planted[0].span[0] == 30
    assert set(range(300, 330)) <= set(planted[0].ids.tolist())
    assert not set(range(300, 330)) & set(planted[1].ids.tolist())
    assert [(sample.label, sample.span) for sample in samples_of(stored, 1, 0.0, rng)] == [(1, None)]
    assert samples_of(stored, 2, 0.0, rng) == []
    assert [len(sample.ids) for sample in samples_of(stored, 3, 0.0, rng)] == [CONTENT]
    assert [sample.label for sample in samples_of(stored, 4, 0.0, rng)] == [0, 0]


def test_a_round_is_the_same_twice_and_keeps_the_cap() -> None:
    stored = archive([(30, 0, (-1, -1), "x/benign", "chat")] * 50)
    mixture = {"default_cap": 1500, "sources": {"x/benign": {"cap": 24}}, "authored": {"repeat": 1}, "own": {"repeat": 1}}
    rounds = [round_samples(stored, mixture, number, 3, 1) for number in range(3)]
    assert [len(one) for one in rounds] == [8, 8, 8]
    again = round_samples(stored, mixture, 1, 3, 1)
    assert [one.ids.tolist() for one in again] == [one.ids.tolist() for one in rounds[1]]


def test_a_rule_for_a_source_comes_before_its_family() -> None:
    mixture = {"default_cap": 1500, "sources": {"own x/benign": {"cap": 100, "repeat": 2}}, "authored": {"repeat": 3}, "own": {"repeat": 4}}
    assert [share(f"{name}/benign", 50, mixture) for name in ("own x", "own y", "authored z", "other")] == [100, 200, 150, 50]
    assert share("own x/benign", 500, mixture) == 200


def test_a_mixture_names_what_differs_from_the_one_it_extends(tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text('{"default_cap": 5, "sources": {"a": {"cap": 1}, "b": {"cap": 2}}, "own": {"repeat": 3}}')
    (tmp_path / "next.json").write_text('{"extends": "base.json", "sources": {"b": {"cap": 9}}, "own": {"repeat": 1}, "scale": 0.5}')
    mixture = read_mixture(tmp_path / "next.json")
    assert mixture == {"default_cap": 5, "sources": {"a": {"cap": 1, "scale": 0.5}, "b": {"cap": 9}}, "own": {"repeat": 1}}
    assert share("a", 4, mixture | {"sources": {"a": {"cap": 4, "scale": 0.5}}}) == 2
