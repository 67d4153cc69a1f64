"""The authored texts (`data/authored/*.txt`).

A line is `i` (attack) or `b` (benign), a group letter and the text; `@lang` starts a language; `\\n` is a line
feed; `⟦…⟧` marks the planted passage. An attack and the benign text after it are a pair and share a split.
"""

from pathlib import Path

GROUPS = {
    "d": "direct", "j": "jailbreak", "n": "indirect", "e": "email", "t": "tool_call",
    "h": "hard_negative", "c": "chat", "o": "document", "x": "code",
}  # fmt: skip
DEV_SHARE = 8


def parse(path: Path) -> list[dict[str, object]]:
    """Rows of one file; every eighth pair is dev."""
    rows: list[dict[str, object]] = []
    lang, pair, previous = "en", 0, ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("@"):
            lang, previous = line[1:].strip(), ""
            continue
        kind, group, text = line.split(" ", 2)
        if kind not in "ib" or group not in GROUPS:
            raise ValueError(f"{path.name}:{number}: expected `i` or `b` and a group letter")
        if kind == "i" or previous != "i":
            pair += 1
        previous = kind
        text = text.replace("\\n", "\n")
        row: dict[str, object] = {
            "label": "injection" if kind == "i" else "benign",
            "group": GROUPS[group],
            "lang": lang,
            "pair": f"{path.stem}:{pair:03d}",
            "source": f"own {path.stem.rsplit('-', 1)[0]}",
        }
        if "⟦" in text:
            start, end = text.index("⟦"), text.index("⟧") - 1
            text = text.replace("⟦", "").replace("⟧", "")
            row["span"] = [start, end]
        rows.append(row | {"text": text, "split": "dev" if pair % DEV_SHARE == 0 else "train"})
    return rows
