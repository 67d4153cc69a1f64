"""The dev texts: whole sources that training lacks, and the kept-out pairs of the authored texts."""

from dataclasses import dataclass
from pathlib import Path

from .rows import own_rows, read_rows


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
    def budgeted(self) -> bool:
        """Whether the false-positive budget counts it: honest twins of attacks are reported apart."""
        return not self.positive and not self.source.startswith(("authored ", "own "))


def dev_items(data: Path, own: Path) -> list[Item]:
    """All dev texts, in a fixed order."""
    rows = read_rows(data / "dev.jsonl.gz")
    rows += [row for row in read_rows(data / "authored.jsonl.gz") if row["split"] == "dev"]
    rows += [row for row in own_rows(own) if row["split"] == "dev"]
    return [
        Item(
            str(row["text"]), row["label"] == "injection", str(row["source"]), str(row["group"]), str(row["lang"]),
            tuple(row["span"]) if "span" in row else None,
        )
        for row in rows
    ]  # fmt: skip
