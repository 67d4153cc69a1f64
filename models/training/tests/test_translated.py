"""Sentences in two languages."""

import json
import zipfile
from pathlib import Path

from portcullis_train.data.translated import Pair, interface_pairs, written_pairs, written_rows

WRITTEN = Path(__file__).resolve().parent.parent / "data" / "translated"


def test_every_translation_has_every_text() -> None:
    """Line N of each file is the same text, and none is empty or left in English."""
    pairs = written_pairs(WRITTEN)
    assert len({pair.lang for pair in pairs}) >= 26
    assert all(pair.other.strip() and pair.other != pair.english for pair in pairs)


def test_half_of_the_rows_are_attacks() -> None:
    """Lines 1 to 50 of each file."""
    rows = written_rows(WRITTEN)
    assert sum(row["label"] == "injection" for row in rows) * 2 == len(rows)


def test_interface_strings(tmp_path: Path) -> None:
    """Markup goes, a place for a value becomes X, untranslated strings and locales of English are left out."""
    archive = tmp_path / "one.whl"
    with zipfile.ZipFile(archive, "w") as bundle:
        for lang, title in (("en", "Delete <b>{name}</b>?"), ("de", "{name} löschen?"), ("en-GB", "Remove {name}?")):
            tree = {"dialog": {"title": title, "same": "OK, fine"}}
            bundle.writestr(f"homeassistant/components/hub/translations/{lang}.json", json.dumps(tree))
    assert interface_pairs([archive]) == [Pair("de", "Delete X ?", "X löschen?")]
