"""Tokenising rows, with the span carried over to tokens."""

from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from .normal import prepare_text

CLS, SEP, PAD = 101, 102, 0


def load_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer file, truncation and padding off."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Content token ids of a text, without `[CLS]` and `[SEP]`."""
    return tokenizer.encode(prepare_text(text), add_special_tokens=False).ids


def encode_span(tokenizer: Tokenizer, text: str, span: tuple[int, int]) -> tuple[list[int], tuple[int, int]]:
    """Ids and the token range of the span; the three parts are tokenised apart, so the cut is exact."""
    parts = [encode(tokenizer, part) for part in (text[: span[0]], text[span[0] : span[1]], text[span[1] :])]
    start = len(parts[0])
    return parts[0] + parts[1] + parts[2], (start, start + len(parts[1]))


def pack(sequences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Flat ids and offsets."""
    offsets = np.zeros(len(sequences) + 1, np.int64)
    offsets[1:] = np.cumsum([len(one) for one in sequences])
    flat = np.fromiter((token for one in sequences for token in one), np.int32, int(offsets[-1]))
    return flat, offsets
