"""Rounds of training windows: caps per source, crops by span, clean windows, batches of like length."""

import json
import zlib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from ..text.windows import CONTENT

UNKNOWN = -1
# How often a row is shown without its channel, or without its task.
WITHOUT_CHANNEL, WITHOUT_TASK = 0.2, 0.15
BOUND_TO_TASK = ("contrast delegated", "authored3 data_delegated", "authored4", "own c-delegated")


@dataclass(frozen=True)
class Sample:
    """One window: content ids, label, the token range of the attack (`None`: not known), channel and task."""

    ids: np.ndarray
    label: int
    span: tuple[int, int] | None
    channel: int = 0
    task: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def tokens(self) -> int:
        """Tokens with the special ones."""
        return len(self.ids) + 2 + (len(self.task) + 1 if len(self.task) else 0)


@dataclass(frozen=True)
class Archive:
    """What `prepare` wrote."""

    ids: np.ndarray
    offsets: np.ndarray
    spans: np.ndarray
    windows: np.ndarray
    labels: np.ndarray
    keys: np.ndarray
    groups: np.ndarray
    channels: np.ndarray
    tasks: np.ndarray
    task_offsets: np.ndarray

    @classmethod
    def load(cls, path: Path) -> "Archive":
        """Read the archive into memory."""
        with np.load(path) as stored:
            return cls(*(stored[one.name] for one in fields(cls)))

    def row(self, index: int) -> np.ndarray:
        """Content ids of a row."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def task(self, index: int) -> np.ndarray:
        """Ids of a row's task; none where no task is known."""
        return self.tasks[self.task_offsets[index] : self.task_offsets[index + 1]]


def read_mixture(path: Path) -> dict:
    """A mixture; one that `extends` another of its folder names only what differs from it. `scale` multiplies what the other one shows."""
    own = json.loads(path.read_text())
    if "extends" not in own:
        return own
    base = read_mixture(path.parent / own.pop("extends"))
    scale = own.pop("scale", 1)
    base["sources"] = {key: rule | {"scale": scale} for key, rule in base["sources"].items()}
    return base | own | {"sources": base["sources"] | own.get("sources", {})}


def share(key: str, rows: int, mixture: dict) -> int:
    """How many rows of `key` one epoch shows."""
    family = key.split(" ")[0]
    rule = mixture["sources"].get(key)
    if rule is None and family in {"authored", "own"} and not key.startswith("authored multilingual"):
        return int(rows * mixture[family]["repeat"])
    rule = rule or {}
    return int(min(rows, rule.get("cap", mixture["default_cap"])) * rule.get("repeat", 1) * rule.get("scale", 1))


def positive_window(length: int, span: tuple[int, int], rng: np.random.Generator) -> tuple[int, int]:
    """A window that holds the whole span, or lies inside it where the span is the longer one."""
    size = min(length, CONTENT if rng.random() < 0.6 else int(rng.integers(48, CONTENT + 1)))
    inner = span[1] - span[0]
    size = max(size, min(inner + 8, CONTENT, length))
    if inner <= size:
        low, high = max(0, span[1] - size), min(span[0], length - size)
    else:
        low, high = span[0], span[1] - size
    start = int(rng.integers(low, high + 1))
    return start, start + size


def clean_window(length: int, span: tuple[int, int], rng: np.random.Generator) -> tuple[int, int] | None:
    """A window of the same document that does not touch the span, if a side has 24 tokens or more."""
    sides = [side for side in ((0, span[0]), (span[1], length)) if side[1] - side[0] >= 24]
    if not sides:
        return None
    low, high = sides[int(rng.integers(len(sides)))]
    size = min(high - low, CONTENT)
    start = int(rng.integers(low, high - size + 1))
    return start, start + size


def samples_of(archive: Archive, index: int, clean: float, rng: np.random.Generator) -> list[Sample]:
    """Windows that one row gives in one epoch."""
    ids = archive.row(index)
    length = len(ids)
    span = (int(archive.spans[index, 0]), int(archive.spans[index, 1]))
    if archive.labels[index]:
        if span[0] >= 0:
            start, end = positive_window(length, span, rng)
            inside = (max(0, span[0] - start), min(end, span[1]) - start)
            result = [Sample(ids[start:end], 1, inside)]
            window = clean_window(length, span, rng) if rng.random() < clean else None
            if window:
                result.append(Sample(ids[slice(*window)], 0, (0, 0)))
            return result
        if length <= CONTENT:
            return [Sample(ids, 1, None)]
        if archive.windows[index, 0] < 0:
            return []
        return [Sample(ids[slice(*archive.windows[index])], 1, None)]
    if length <= CONTENT:
        return [Sample(ids, 0, (0, 0))]
    result = []
    for _ in range(min(2, -(-length // CONTENT))):
        size = CONTENT if rng.random() < 0.7 else int(rng.integers(64, CONTENT + 1))
        start = int(rng.integers(0, length - size + 1))
        result.append(Sample(ids[start : start + size], 0, (0, 0)))
    return result


def round_samples(archive: Archive, mixture: dict, number: int, rounds: int, seed: int, without: tuple[str, ...] = ()) -> list[Sample]:
    """Samples of round `number`, where `rounds` rounds make an epoch; each key is walked in a shuffled circle, but those that begin with one of `without`."""
    samples: list[Sample] = []
    for key in sorted(key for key in set(archive.keys.tolist()) if not key.startswith(without)):
        rows = np.flatnonzero(archive.keys == key)
        tag = zlib.crc32(key.encode())
        order = np.random.default_rng([seed, tag]).permutation(rows)
        epoch = share(key, len(rows), mixture)
        first, last = epoch * number // rounds, epoch * (number + 1) // rounds
        rng = np.random.default_rng([seed, tag, number])
        clean = mixture["sources"].get(key, {}).get("clean", 0.25 if key.startswith(("authored ", "own ")) else 0.0)
        for position in range(first, last):
            index = int(order[position % len(order)])
            channel, task = told(archive, index, key, rng)
            samples.extend(replace(sample, channel=channel, task=task) for sample in samples_of(archive, index, clean, rng))
    return [sample for sample in samples if len(sample.ids)]


def plain(sample: Sample) -> Sample:
    """A sample without channel and task."""
    return replace(sample, channel=0, task=sample.task[:0])


def told(archive: Archive, index: int, key: str, rng: np.random.Generator) -> tuple[int, np.ndarray]:
    """The channel and the task that a row shows this time: either may be left out, so that a net can do without.

    Rows whose label hangs on what is left out are shown whole.
    """
    channel, task = int(archive.channels[index]), archive.task(index)
    if key.startswith(BOUND_TO_TASK):
        return channel, task
    if rng.random() < WITHOUT_TASK:
        task = task[:0]
    return (0, task[:0]) if rng.random() < WITHOUT_CHANNEL else (channel, task)


def batches(samples: list[Sample], budget: int, rng: np.random.Generator) -> list[list[Sample]]:
    """Shuffled batches of at most `budget` padded tokens, of like length inside a batch."""
    order = rng.permutation(len(samples))
    keyed = sorted(order.tolist(), key=lambda index: samples[index].tokens + rng.random() * 8)
    result: list[list[Sample]] = []
    current: list[Sample] = []
    for index in keyed:
        longest = samples[index].tokens
        if current and longest * (len(current) + 1) > budget:
            result.append(current)
            current = []
        current.append(samples[index])
    if current:
        result.append(current)
    return [result[index] for index in rng.permutation(len(result))]
