"""Rounds of training windows: caps per source, crops by span, clean windows, batches of like length."""

import json
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..text.windows import CONTENT

UNKNOWN = -1


@dataclass(frozen=True)
class Sample:
    """One window: content ids, label, the token range of the attack (`None`: not known), and a teacher's logit."""

    ids: np.ndarray
    label: int
    span: tuple[int, int] | None
    logit: float | None = None


@dataclass(frozen=True)
class Archive:
    """What `prepare` wrote."""

    ids: np.ndarray
    offsets: np.ndarray
    spans: np.ndarray
    labels: np.ndarray
    keys: np.ndarray
    groups: np.ndarray
    # A teacher's logit per row (NaN: none), for windows that hold a whole row.
    logits: np.ndarray | None = None

    @classmethod
    def load(cls, path: Path, logits: Path | None = None) -> "Archive":
        """Read the archive into memory, with the row logits of `label_rows`."""
        with np.load(path) as stored:
            arrays = [stored[name] for name in ("ids", "offsets", "spans", "labels", "keys", "groups")]
        if logits is None:
            return cls(*arrays)
        given = np.load(logits)
        if len(given) != len(arrays[3]):
            raise ValueError(f"{logits} has {len(given)} rows, {path} has {len(arrays[3])}: prepare both archives from the same data")
        return cls(*arrays, given)

    def logit(self, index: int) -> float | None:
        """The teacher's logit of a whole row."""
        return None if self.logits is None or np.isnan(self.logits[index]) else float(self.logits[index])

    def row(self, index: int) -> np.ndarray:
        """Content ids of a row."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


def read_mixture(path: Path) -> dict:
    """A mixture; one that `extends` another of its folder names only what differs from it."""
    own = json.loads(path.read_text())
    if "extends" not in own:
        return own
    base = read_mixture(path.parent / own.pop("extends"))
    return base | own | {"sources": base["sources"] | own.get("sources", {})}


def share(key: str, rows: int, mixture: dict) -> int:
    """How many rows of `key` one epoch shows."""
    family = key.split(" ")[0]
    rule = mixture["sources"].get(key)
    if rule is None and family in {"authored", "own"} and not key.startswith("authored multilingual"):
        return int(rows * mixture[family]["repeat"])
    rule = rule or {}
    return int(min(rows, rule.get("cap", mixture["default_cap"])) * rule.get("repeat", 1))


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
            result = [Sample(ids[start:end], 1, inside, archive.logit(index) if end - start == length else None)]
            window = clean_window(length, span, rng) if rng.random() < clean else None
            if window:
                result.append(Sample(ids[slice(*window)], 0, (0, 0)))
            return result
        if length <= CONTENT:
            return [Sample(ids, 1, None, archive.logit(index))]
        if not archive.groups[index].startswith("jailbreak"):
            return []
        start = int(rng.integers(0, length - CONTENT + 1))
        return [Sample(ids[start : start + CONTENT], 1, None)]
    if length <= CONTENT:
        return [Sample(ids, 0, (0, 0), archive.logit(index))]
    result = []
    for _ in range(min(2, -(-length // CONTENT))):
        size = CONTENT if rng.random() < 0.7 else int(rng.integers(64, CONTENT + 1))
        start = int(rng.integers(0, length - size + 1))
        result.append(Sample(ids[start : start + size], 0, (0, 0)))
    return result


def round_samples(archive: Archive, mixture: dict, number: int, rounds: int, seed: int) -> list[Sample]:
    """Samples of round `number`, where `rounds` rounds make an epoch; each key is walked in a shuffled circle."""
    samples: list[Sample] = []
    for key in sorted(set(archive.keys.tolist())):
        rows = np.flatnonzero(archive.keys == key)
        tag = zlib.crc32(key.encode())
        order = np.random.default_rng([seed, tag]).permutation(rows)
        epoch = share(key, len(rows), mixture)
        first, last = epoch * number // rounds, epoch * (number + 1) // rounds
        rng = np.random.default_rng([seed, tag, number])
        clean = mixture["sources"].get(key, {}).get("clean", 0.25 if key.startswith(("authored ", "own ")) else 0.0)
        for position in range(first, last):
            samples.extend(samples_of(archive, int(order[position % len(order)]), clean, rng))
    return [sample for sample in samples if len(sample.ids)]


def batches(samples: list[Sample], budget: int, rng: np.random.Generator) -> list[list[Sample]]:
    """Shuffled batches of at most `budget` padded tokens, of like length inside a batch."""
    order = rng.permutation(len(samples))
    keyed = sorted(order.tolist(), key=lambda index: len(samples[index].ids) + rng.random() * 8)
    result: list[list[Sample]] = []
    current: list[Sample] = []
    for index in keyed:
        longest = len(samples[index].ids) + 2
        if current and longest * (len(current) + 1) > budget:
            result.append(current)
            current = []
        current.append(samples[index])
    if current:
        result.append(current)
    return [result[index] for index in rng.permutation(len(result))]


def write_labelled(path: Path, samples: list[Sample]) -> None:
    """Windows with their labels, spans (-1: not known) and teacher's logits (NaN: none)."""
    np.savez(
        path,
        ids=np.concatenate([sample.ids for sample in samples]).astype(np.int32),
        offsets=np.cumsum([0, *(len(sample.ids) for sample in samples)]),
        labels=np.array([sample.label for sample in samples], np.int8),
        spans=np.array([sample.span or (UNKNOWN, UNKNOWN) for sample in samples], np.int32),
        logits=np.array([np.nan if sample.logit is None else sample.logit for sample in samples], np.float32),
    )


def read_labelled(path: Path) -> list[Sample]:
    """What `write_labelled` wrote."""
    with np.load(path) as stored:
        ids, offsets, labels, spans, logits = (stored[name] for name in ("ids", "offsets", "labels", "spans", "logits"))
    return [
        Sample(
            ids[offsets[row] : offsets[row + 1]],
            int(labels[row]),
            None if spans[row, 0] == UNKNOWN else (int(spans[row, 0]), int(spans[row, 1])),
            None if np.isnan(logits[row]) else float(logits[row]),
        )
        for row in range(len(labels))
    ]
