"""Sentences in two languages."""

import json
import zipfile
from collections import defaultdict
from pathlib import Path

from portcullis_train.data.rows import own_texts
from portcullis_train.data.translated import Pair, interface_pairs, written_pairs


def test_every_translation_has_every_text() -> None:
    """Each has its English, and none is empty or left in English."""
    pairs = written_pairs()
    assert len({pair.lang for pair in pairs}) >= 26
    assert all(pair.other.strip() and pair.other != pair.english for pair in pairs)


def test_every_set_has_all_its_texts_in_each_language() -> None:
    """A hundred, half of them attacks."""
    labels = defaultdict(list)
    for row in own_texts("translated"):
        labels[row["pair"].split(":")[0], row["lang"]].append(row["label"])
    assert {(len(found), found.count("injection")) for found in labels.values()} == {(100, 50)}


def test_interface_strings(tmp_path: Path) -> None:
    """Markup goes, a place for a value becomes X, untranslated strings and locales of English are left out."""
    archive = tmp_path / "one.whl"
    with zipfile.ZipFile(archive, "w") as bundle:
        for lang, title in (("en", "Delete <b>{name}</b>?"), ("de", "{name} löschen?"), ("en-GB", "Remove {name}?")):
            tree = {"dialog": {"title": title, "same": "OK, fine"}}
            bundle.writestr(f"homeassistant/components/hub/translations/{lang}.json", json.dumps(tree))
    assert interface_pairs([archive]) == [Pair("de", "Delete X ?", "X löschen?")]
