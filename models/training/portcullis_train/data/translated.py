"""Sentences in two languages: English beside its translation, for teaching the encoder other languages.

Two sources: texts written for this project and translated (`data/translated.jsonl`; rows of one `pair` are the same text), and the interface strings of openly licensed packages
(`packages-translated.txt`, fetched into the cache, never committed).
"""

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .rows import own_texts

SHORTEST, LONGEST = 4, 400
# Locales that differ in little are one language; those left out have no rule, no own text and few strings.
SAME = {"zh-Hans": "zh", "zh-Hant": "zh", "pt-BR": "pt", "es-419": "es", "nb": "no", "nn": "no"}
LEFT_OUT = {"te", "ml", "eu", "hy", "sq", "bs", "ta", "ga", "cy", "gsw", "ka", "la", "eo", "is", "fy"}
_BACKEND = re.compile(r"homeassistant/components/(\w+)/translations/([\w-]+)\.json$")
_FRONTEND = re.compile(r"hass_frontend/static/translations/((?:[\w-]+/)*)([\w-]+)-[0-9a-f]{32}\.json$")


@dataclass(frozen=True)
class Pair:
    """An English text and its translation."""

    lang: str
    english: str
    other: str


def _leaves(tree: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for name, branch in tree.items():
            yield from _leaves(branch, f"{path}/{name}")
    elif isinstance(tree, str):
        yield path, tree


def _plain(text: str) -> str:
    """An interface string without its markup; a place for a value becomes `X`."""
    if text.count("{") > 2:
        text = re.sub(r"\{[^{}]*\{.*", "", text)
    text = re.sub(r"<[^>]+>|\[%.*?%\]|\[([^\]]*)\]\([^)]*\)", lambda match: match.group(1) or " ", text)
    text = re.sub(r"https?://\S+", " ", re.sub(r"\{[^{}]*\}", "X", text))
    return re.sub(r"\s+", " ", text.replace("`", "").replace("*", "")).strip()


def interface_pairs(archives: list[Path]) -> list[Pair]:
    """The interface strings of the archives, each beside its English."""
    strings: dict[str, dict[str, str]] = {}
    for archive in archives:
        with zipfile.ZipFile(archive) as bundle:
            for name in bundle.namelist():
                match = _BACKEND.match(name) or _FRONTEND.match(name)
                if match:
                    tree = json.loads(bundle.read(name))
                    strings.setdefault(match.group(2), {}).update(_leaves(tree, match.group(1)))
    english = strings["en"]
    found: dict[Pair, None] = {}
    for lang in sorted(strings):
        if lang.startswith("en") or lang in LEFT_OUT:
            continue
        for key, value in strings[lang].items():
            pair = Pair(SAME.get(lang, lang), _plain(english.get(key, "")), _plain(value))
            if not SHORTEST <= len(pair.english) <= LONGEST or pair.english.lower() == pair.other.lower():
                continue
            if 0.25 < len(pair.other) / len(pair.english) < 4:
                found[pair] = None
    return list(found)


def written_pairs() -> list[Pair]:
    """The translated texts of this project, each beside its English."""
    rows = own_texts("translated")
    english = {row["pair"]: str(row["text"]) for row in rows if row["lang"] == "en"}
    return [Pair(str(row["lang"]), english[row["pair"]], str(row["text"])) for row in rows if row["lang"] != "en"]
