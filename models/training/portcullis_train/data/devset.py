"""The dev texts: whole sources that training lacks, and the kept-out pairs of the authored texts."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .channels import channel_of
from .inserts import apart_rows, passages
from .rows import Row, own_texts, read_rows

# The sources of dev that no generator of this project made; world-dev is one whole.
WORLD_OF_DEV = {"BIPIA train", "neuralchemy", "easyjailbreak seeds", "agent goals (ASB)", "spikee documents", "wild-jailbreaks"}


WORLD_DEV = {
    "Tensor Trust", "prompt_extraction", "authensor", "redteamcua", "turkish_corpus", "pyrit_jailbreaks", "pair_autodan",
    "LLMail-Inject sample", "ops_docs", "cursor_rules",
}  # fmt: skip


# Authored benign texts that stand for real traffic: what users ask, play and paste. Files for agents are real in `world-3-dev` and `world-dev`;
# the authored ones repeat a poisoned file but for one passage.
HONEST = ("user_order", "roleplay_honest", "security_honest", "user_paste")


@dataclass(frozen=True)
class Item:
    """One dev text."""

    text: str
    positive: bool
    source: str
    group: str
    lang: str
    span: tuple[int, int] | None
    channel: int = 0
    task: str = ""

    @property
    def authored(self) -> bool:
        """Whether it was written against its twin: such texts are reported apart."""
        return self.source.startswith(("authored", "own "))

    @property
    def generated(self) -> bool:
        """Whether a generator of this project made it: such texts are reported and choose nothing."""
        return self.source.startswith(("synthetic ", "tool records", "mined "))

    @property
    def budgeted(self) -> bool:
        """Whether the false-positive budget counts it: a benign text that no generator made, and that was not written against an attack's twin."""
        return not self.positive and not self.generated and (not self.authored or self.source.endswith(HONEST))


def item_of(row: Row) -> Item:
    """A row as a dev text."""
    return Item(
        str(row["text"]), row["label"] == "injection", str(row["source"]), str(row["group"]), str(row["lang"]),
        tuple(row["span"]) if "span" in row else None, channel_of(row), str(row.get("task") or ""),
    )  # fmt: skip


def calibration_items() -> list[Item]:
    """Benign texts in 76 languages, written for thresholds alone: `data/calibration.jsonl`."""
    return [item_of(row) for row in own_texts("calibration")]


def insert_items(data: Path) -> list[Item]:
    """The passages that training doesn't see, in hosts of dev: told apart from `dev_items`, whose figures they don't touch."""
    return [item_of(row) for row in apart_rows(read_rows(data / "dev.jsonl.gz"), passages())]


def world_items(data: Path) -> list[Item]:
    """The texts that choices are made by: `world-dev`, and the sources of dev that other people wrote."""
    rows = read_rows(data / "world-dev.jsonl.gz")
    rows += [row for row in read_rows(data / "dev.jsonl.gz") if row["source"] in WORLD_OF_DEV]
    return [item_of(row) for row in rows]


def channel_items(data: Path) -> list[Item]:
    """The texts with a channel that are never learnt: `world-3-dev`, and the dev parts of the authored ones. Their labels hold for channel and task."""
    rows = read_rows(data / "world-3-dev.jsonl.gz")
    rows += [row for name in ("authored-3", "authored-4") for row in read_rows(data / f"{name}.jsonl.gz")]
    return [item_of(row) for row in rows + own_texts("channel") if row.get("split", "dev") == "dev"]


def first_of_each(items: list[Item], each: int | None) -> list[Item]:
    """The first `each` texts of a source and label; all of them without `each`."""
    counts: Counter[tuple[str, bool]] = Counter()
    kept = []
    for item in items:
        counts[item.source, item.positive] += 1
        if each is None or counts[item.source, item.positive] <= each:
            kept.append(item)
    return kept


def dev_items(data: Path, limit: int | None = None) -> list[Item]:
    """Dev texts in a fixed order, with those of `calibration_items`; with `limit`, the first so many of each other source and label."""
    rows = read_rows(data / "dev.jsonl.gz")
    rows += read_rows(data / "world-dev.jsonl.gz")
    rows += [row for name in ("authored", "authored-2") for row in read_rows(data / f"{name}.jsonl.gz") if row["split"] == "dev"]
    rows += [row for row in own_texts("authored") if row["split"] == "dev"]
    return first_of_each([item_of(row) for row in rows], limit) + calibration_items()
