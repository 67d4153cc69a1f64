"""The dev texts: whole sources that training lacks, and the kept-out pairs of the authored texts."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .inserts import apart_rows
from .rows import Row, own_rows, read_rows

# The sources of dev that no generator of this project made; world-dev is one whole.
WORLD_OF_DEV = {"BIPIA train", "neuralchemy", "easyjailbreak seeds", "agent goals (ASB)", "spikee documents", "wild-jailbreaks"}


WORLD_DEV = {
    "Tensor Trust", "prompt_extraction", "authensor", "redteamcua", "turkish_corpus", "pyrit_jailbreaks", "pair_autodan",
    "LLMail-Inject sample", "ops_docs", "cursor_rules",
}  # fmt: skip


@dataclass(frozen=True)
class Item:
    """One dev text."""

    text: str
    positive: bool
    source: str
    group: str
    lang: str
    span: tuple[int, int] | None

    @property
    def authored(self) -> bool:
        """Whether it was written against its twin: such texts are reported apart."""
        return self.source.startswith(("authored ", "own "))

    @property
    def generated(self) -> bool:
        """Whether a generator of this project made it: such texts are reported and choose nothing."""
        return self.source.startswith(("synthetic ", "tool records", "mined "))

    @property
    def budgeted(self) -> bool:
        """Whether the false-positive budget counts it."""
        return not self.positive and not self.authored and not self.generated


def item_of(row: Row) -> Item:
    """A row as a dev text."""
    return Item(
        str(row["text"]), row["label"] == "injection", str(row["source"]), str(row["group"]), str(row["lang"]),
        tuple(row["span"]) if "span" in row else None,
    )  # fmt: skip


def calibration_items(own: Path) -> list[Item]:
    """Benign texts in 76 languages, written for thresholds alone: `data/calibration`."""
    rows = [row for path in sorted((own / "calibration").glob("*.jsonl")) for row in read_rows(path)]
    return [Item(row["text"], False, f"calibration {row['kind']}", "calibration", row["language"], None) for row in rows]


def insert_items(data: Path, own: Path) -> list[Item]:
    """The passages that training doesn't see, in hosts of dev: told apart from `dev_items`, whose figures they don't touch."""
    return [item_of(row) for row in apart_rows(read_rows(data / "dev.jsonl.gz"), own / "inserts")]


def world_items(data: Path) -> list[Item]:
    """The texts that choices are made by: `world-dev`, and the sources of dev that other people wrote."""
    rows = read_rows(data / "world-dev.jsonl.gz")
    rows += [row for row in read_rows(data / "dev.jsonl.gz") if row["source"] in WORLD_OF_DEV]
    return [item_of(row) for row in rows]


def dev_items(data: Path, own: Path, limit: int | None = None) -> list[Item]:
    """Dev texts in a fixed order, with those of `calibration_items`; with `limit`, the first so many of each other source and label."""
    rows = read_rows(data / "dev.jsonl.gz")
    rows += read_rows(data / "world-dev.jsonl.gz")
    rows += [row for name in ("authored", "authored-2") for row in read_rows(data / f"{name}.jsonl.gz") if row["split"] == "dev"]
    rows += [row for row in own_rows(own) if row["split"] == "dev"]
    counts: Counter[tuple[str, str]] = Counter()
    kept = []
    for row in rows:
        counts[row["source"], row["label"]] += 1
        if limit is None or counts[row["source"], row["label"]] <= limit:
            kept.append(row)
    return [item_of(row) for row in kept] + calibration_items(own)
