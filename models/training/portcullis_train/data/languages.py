"""`languages`: choose word pieces of other languages, and which English pieces make room for them.

Writes `data/languages.json`. Pieces are learnt (WordPiece) on the words of the translated interface strings and of the
training texts that are not English; what gives way are English pieces that the training archive hardly ever shows.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from ..paths import HERE
from ..text.encode import load_tokenizer
from ..text.normal import prepare_text
from .harvest import fetch
from .rows import Row, own_texts, read_rows
from .translated import LEFT_OUT, SAME, interface_pairs
from .vocabulary import LANGUAGES, base_vocabulary, write_tokenizer

# Ids given up, and new ones: at 384 bytes each, the second number is what is left of 25 MB.
GIVEN_UP, PIECES = 4000, 8000
SHOWN_AT_MOST = 5
OWN_WEIGHT = 6
# Up to so many words a language's weight grows with its text.
ENOUGH_WORDS, ROOT = 30_000, 0.7
LONGEST_WORD, RAREST = 24, 8


def words_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a text as the tokenizer is about to cut them."""
    normal = tokenizer.normalizer.normalize_str(prepare_text(text))
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]


def weighted_words(tokenizer: Tokenizer, texts: Iterator[tuple[str, str, int]]) -> Counter[str]:
    """Words by weight; the texts come as language, text, weight. Each language counts by a root of its size."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for lang, text, weight in texts:
        if lang not in LEFT_OUT:
            for word in words_of(tokenizer, text):
                counts[lang][word] += weight
    total: Counter[str] = Counter()
    for found in counts.values():
        size = sum(found.values())
        scale = 1e6 * min(1, (size / ENOUGH_WORDS) ** ROOT) / size
        for word, count in found.items():
            if len(word) <= LONGEST_WORD and any(char.isalpha() for char in word):
                total[word] += count * scale
    return total


def learnt_pieces(words: Counter[str], known: dict[str, int]) -> list[str]:
    """Word pieces that the vocabulary lacks, the most useful first."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=15_000, min_frequency=20, special_tokens=["[UNK]"], limit_alphabet=1500, show_progress=False
    )
    repeated = (" ".join([word] * max(1, min(20_000, round(weight / 15)))) for word, weight in words.items() if weight >= RAREST)
    tokenizer.train_from_iterator(repeated, trainer)
    found = tokenizer.get_vocab()
    return [
        piece
        for piece in sorted(found, key=found.__getitem__)
        if piece not in known and len(piece.removeprefix("##")) > 1 and any(char.isalpha() for char in piece)
    ]


def hardly_shown(known: dict[str, int], shown: np.ndarray) -> list[str]:
    """ASCII pieces of two letters and more that the archive shows least."""
    names = {number: name for name, number in known.items()}
    rare = (names[number] for number in np.argsort(shown, kind="stable").tolist() if shown[number] <= SHOWN_AT_MOST)
    return [name for name in rare if name.isascii() and len(name.removeprefix("##")) > 1 and not name.startswith("[")]


def texts_of(data: Path, archives: list[Path]) -> Iterator[tuple[str, str, int]]:
    """Everything to learn pieces from, that is not English."""
    for pair in interface_pairs(archives):
        yield pair.lang, pair.other, 1
    rows: list[tuple[Row, int]] = [(row, OWN_WEIGHT) for row in own_texts("authored") if row["split"] == "train"]
    rows += [(row, OWN_WEIGHT) for row in read_rows(data / "authored.jsonl.gz") if row["split"] == "train"]
    rows += [(row, 1) for row in read_rows(data / "train.jsonl.gz") if len(str(row["text"])) < 3000]
    for row, weight in rows:
        if row["lang"] and row["lang"] != "en":
            yield SAME.get(str(row["lang"]), str(row["lang"])[:2]), str(row["text"]), weight


def main() -> None:
    """Command line of `languages`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder whose train.npz was made with the base's pieces alone")
    args = parser.parse_args()
    known = base_vocabulary()
    write_tokenizer(known, args.work / "tokenizer-base.json")
    tokenizer = load_tokenizer(args.work / "tokenizer-base.json")
    with np.load(args.work / "train.npz") as archive:
        shown = np.bincount(archive["ids"], minlength=len(known))[: len(known)]
    archives = fetch(HERE / "packages-translated.txt", args.work / "sources")
    pieces = learnt_pieces(weighted_words(tokenizer, texts_of(args.data, archives)), known)
    chosen = {"given_up": hardly_shown(known, shown)[:GIVEN_UP], "pieces": pieces[:PIECES]}
    LANGUAGES.write_text(json.dumps(chosen, ensure_ascii=False, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()
