"""`align`: which English pieces a piece of another language stands beside, and a first vector from that.

IBM model 1, one language at a time, its counts added up: of each sentence pair, every English piece is shared out among
the pieces of the translation by how well they have gone together so far. A new piece's first vector is then the mean of
the vectors of its English pieces, by those counts: on the first day of training it already means something.

Source: Brown et al., "The Mathematics of Statistical Machine Translation" (1993), model 1.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix, load_npz, save_npz
from tokenizers import Tokenizer
from torch import Tensor

from ..data.harvest import fetch
from ..data.translated import Pair, interface_pairs, written_pairs
from ..data.vocabulary import base_vocabulary
from ..paths import HERE
from ..text.encode import load_tokenizer
from ..text.normal import prepare_text

ROUNDS = 6
LONGEST = 40
# A piece with fewer counts than this gets the mean of all vectors; no first vector is shorter than this share of the usual.
ENOUGH, SHORTEST = 3, 0.7


def _ids(tokenizer: Tokenizer, texts: list[str]) -> list[np.ndarray]:
    encoded = tokenizer.encode_batch([prepare_text(text) for text in texts], add_special_tokens=False)
    return [np.array(one.ids[:LONGEST], np.int64) for one in encoded]


def counts_of(english: list[np.ndarray], other: list[np.ndarray], size: int) -> csr_matrix:
    """Expected counts (piece of the other language, English piece) of one language's pairs, `size` pieces square."""
    groups, others, engs = [], [], []
    first = 0
    for left, right in zip(english, other, strict=True):
        others.append(np.tile(right, len(left)))
        engs.append(np.repeat(left, len(right)))
        groups.append(first + np.repeat(np.arange(len(left)), len(right)))
        first += len(left)
    group = np.concatenate(groups)
    codes, place = np.unique(np.concatenate(others) * size + np.concatenate(engs), return_inverse=True)
    rows = codes // size
    table = np.ones(len(codes))
    counts = table
    for _ in range(ROUNDS):
        weight = table[place]
        counts = np.bincount(place, weight / np.bincount(group, weight, first)[group], len(codes))
        table = counts / np.bincount(rows, counts, size)[rows]
    return csr_matrix((counts, (rows, codes % size)), shape=(size, size))


def alignment(tokenizer: Tokenizer, pairs: list[Pair]) -> csr_matrix:
    """Counts of all languages."""
    size = tokenizer.get_vocab_size()
    total = csr_matrix((size, size))
    for lang in sorted({pair.lang for pair in pairs}):
        part = [pair for pair in pairs if pair.lang == lang]
        total = total + counts_of(_ids(tokenizer, [one.english for one in part]), _ids(tokenizer, [one.other for one in part]), size)
    return total.tocsr()


def with_new_pieces(words: Tensor, counts: csr_matrix, fresh: np.ndarray) -> Tensor:
    """The vectors `words` grown to all pieces; those marked in `fresh` get their first vectors."""
    size = len(fresh)
    grown = torch.zeros(size, words.shape[1])
    grown[: len(words)] = words
    known = counts.multiply(csr_matrix(~fresh)).tocsr()[np.flatnonzero(fresh)]
    total = np.asarray(known.sum(1)).ravel()
    first = torch.from_numpy(np.asarray(known @ grown.numpy()) / np.maximum(total, 1e-9)[:, None]).float()
    length = first.norm(dim=1, keepdim=True).clamp(min=1e-6)
    first = first / length * length.clamp(min=float(words.norm(dim=1).median()) * SHORTEST)
    first[torch.from_numpy(total < ENOUGH)] = words.mean(0)
    grown[torch.from_numpy(np.flatnonzero(fresh))] = first
    return grown


def grow(weights: dict[str, Tensor], work: Path) -> dict[str, Tensor]:
    """Weights made with the base's pieces alone, ready for all pieces."""
    counts = load_npz(work / "alignment.npz")
    fresh = np.load(work / "fresh.npy")
    return weights | {"words.weight": with_new_pieces(weights["words.weight"], counts, fresh)}


def main() -> None:
    """Command line of `align`: writes `alignment.npz` and `fresh.npy` (which pieces are new) into the work folder.

    With `--grow`, weights that were made with the base's pieces alone are written anew for all pieces.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--grow", type=Path, help="weights to grow, by the alignment that is there")
    parser.add_argument("--to", type=Path, help="where to write them")
    args = parser.parse_args()
    if args.grow:
        torch.save(grow(torch.load(args.grow, map_location="cpu"), args.work), args.to)
        return
    tokenizer = load_tokenizer(args.work / "tokenizer.json")
    before = base_vocabulary()
    fresh = np.zeros(tokenizer.get_vocab_size(), bool)
    fresh[[number for piece, number in tokenizer.get_vocab().items() if piece not in before]] = True
    pairs = interface_pairs(fetch(HERE / "packages-translated.txt", args.work / "sources"))
    pairs += written_pairs()
    save_npz(args.work / "alignment.npz", alignment(tokenizer, pairs))
    np.save(args.work / "fresh.npy", fresh)


if __name__ == "__main__":
    main()
