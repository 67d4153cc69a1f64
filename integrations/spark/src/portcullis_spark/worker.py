"""The scorer of a Python worker: Spark keeps its workers from task to task, and so a core starts one scorer a job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .scorer import Scorer, ScorerError

#: What a scorer says of itself: package, rules, thresholds, model, mode and the day that decides about expired entries.
Versions = Mapping[str, Any]


@dataclass(frozen=True)
class ScorerOptions:
    """How an executor starts a scorer, and how long it waits for it."""

    command: tuple[str, ...]
    start_timeout_s: float
    row_timeout_s: float


_kept: tuple[ScorerOptions, Scorer] | None = None


def worker_scorer(options: ScorerOptions) -> Scorer:
    """This worker's scorer, started anew where there is none, or one with other options."""
    global _kept
    if _kept is not None:
        kept_options, kept = _kept
        if kept_options == options and kept.running:
            return kept
        kept.close()
        _kept = None
    scorer = Scorer(options.command, options.start_timeout_s, options.row_timeout_s)
    _kept = (options, scorer)
    return scorer


def check_versions(there: Versions, agreed: Versions) -> None:
    """Raises a `ScorerError` that names each difference."""
    other = sorted(name for name in {*there, *agreed} if there.get(name) != agreed.get(name))
    if other:
        pairs = ", ".join(f"{name} {there.get(name)!r} instead of {agreed.get(name)!r}" for name in other)
        raise ScorerError(f"this executor's Portcullis is another one: {pairs}")
