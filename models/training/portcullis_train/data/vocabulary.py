"""The tokenizer: the base's WordPiece, opened to other languages.

The English vocabulary turns most Chinese words, and many of other scripts, into `[UNK]`, and reads the rest letter by
letter. Its 994 unused slots are given to the characters that it lacks most (`data/pieces.json`, counted on the training
rows by `python -m portcullis_train.data.vocabulary`). Word pieces of other languages (`data/languages.json`, made by
`python -m portcullis_train.data.languages`) take the ids of pieces that English hardly uses, and then new ids; no other id
changes.
"""

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from ..paths import HERE
from ..text.normal import prepare_text
from .base import base_folder
from .harvest import fetch, harvest
from .rows import read_rows

PIECES = HERE / "data" / "pieces.json"
LANGUAGES = HERE / "data" / "languages.json"


def base_vocabulary() -> dict[str, int]:
    """The base's pieces and ids, its unused slots given to characters."""
    stored = json.loads((base_folder() / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    pieces = json.loads(PIECES.read_text("utf-8"))
    renamed = dict(zip([name for name in stored if name.startswith("[unused")], pieces, strict=False))
    return {renamed.get(name, name): number for name, number in stored.items()}


def with_languages(vocabulary: dict[str, int]) -> dict[str, int]:
    """The vocabulary with the pieces of other languages."""
    languages = json.loads(LANGUAGES.read_text("utf-8"))
    given_up = set(languages["given_up"])
    kept = {name: number for name, number in vocabulary.items() if name not in given_up}
    free = [vocabulary[name] for name in languages["given_up"]]
    free += range(len(vocabulary), len(vocabulary) + len(languages["pieces"]) - len(free))
    return dict(sorted((kept | dict(zip(languages["pieces"], free, strict=True))).items(), key=lambda one: one[1]))


def write_tokenizer(vocabulary: dict[str, int], target: Path) -> None:
    """Write `tokenizer.json`: truncation and padding off."""
    stored = json.loads((base_folder() / "tokenizer.json").read_text("utf-8"))
    stored["truncation"] = stored["padding"] = None
    stored["model"]["vocab"] = vocabulary
    target.write_text(json.dumps(stored, ensure_ascii=False, separators=(",", ":")), "utf-8")


def build_tokenizer(target: Path) -> None:
    """Write the tokenizer that is trained and shipped."""
    write_tokenizer(with_languages(base_vocabulary()), target)


def kept_pieces(vocabulary: dict[str, int], shown: np.ndarray, least: int) -> dict[str, int]:
    """The old numbers of the pieces to keep: special ones, single characters, and those shown `least` times or more; in the old order."""
    kept = {}
    for piece, number in sorted(vocabulary.items(), key=lambda one: one[1]):
        special = piece.startswith("[") and piece.endswith("]") and len(piece) > 1
        if special or len(piece.removeprefix("##")) == 1 or shown[number] >= least:
            kept[piece] = number
    return kept


def missing_pieces(tokenizer: Tokenizer, rows: list[dict[str, object]], slots: int) -> list[str]:
    """The pieces that words lack most, each language's count divided by the root of its total."""
    vocabulary = tokenizer.get_vocab()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        text = tokenizer.normalizer.normalize_str(prepare_text(str(row["text"])))
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text):
            if word not in vocabulary:
                pieces = [char if place == 0 else "##" + char for place, char in enumerate(word)]
                counts[str(row["lang"])[:2]].update(piece for piece in pieces if piece not in vocabulary)
    total: Counter[str] = Counter()
    for found in counts.values():
        scale = sum(found.values()) ** 0.5
        for piece, count in found.items():
            total[piece] += count / scale
    return [piece for piece, _ in sorted(total.items(), key=lambda one: (-one[1], one[0]))[:slots]]


def main() -> None:
    """Count the pieces anew and write `data/pieces.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    args = parser.parse_args()
    rows = read_rows(args.data / "train.jsonl.gz")
    rows += [row for row in read_rows(args.data / "authored.jsonl.gz") if row["split"] == "train"]
    rows += harvest(fetch(HERE / "packages.txt", args.work / "sources"), 1)
    tokenizer = Tokenizer.from_file(str(base_folder() / "tokenizer.json"))
    slots = sum(name.startswith("[unused") for name in tokenizer.get_vocab())
    pieces = missing_pieces(tokenizer, [row for row in rows if row["lang"] != "en"], slots)
    PIECES.write_text(json.dumps(pieces, ensure_ascii=False, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()
