"""`label_rows`: a teacher's logits of whole rows, for `train --row-logits`.

For a teacher with word pieces of its own (`train --base`): its archive holds the same rows in the same order as the student's, so a row's
number joins them. Rows of sources that the mixture leaves out and rows longer than a window have no logit.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from ..text.windows import CONTENT
from .net import screener
from .sampling import Archive, Sample, read_mixture, share
from .train import quick_scores

CHUNK = 4096


def rows_to_label(archive: Archive, mixture: dict, words: tuple[str, ...]) -> np.ndarray:
    """Rows that fit into a window and whose key begins with one of `words` (empty: any) and is in the mixture."""
    lengths = np.diff(archive.offsets)
    shown = {key: share(key, int((archive.keys == key).sum()), mixture) > 0 and key.startswith(words) for key in set(archive.keys.tolist())}
    return np.flatnonzero((lengths <= CONTENT) & (lengths > 0) & np.array([shown[key] for key in archive.keys.tolist()]))


def main() -> None:
    """Command line of `label_rows`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="the teacher's work folder")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--mixture", type=Path, required=True)
    parser.add_argument("--keys", nargs="*", default=[], help="beginnings of the keys to label; all without it")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", type=Path, required=True, help=".npy file that the logits are written to, NaN where there is none")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = screener(torch.load(args.weights, map_location="cpu")).to(device)
    archive = Archive.load(args.work / "train.npz")
    chosen = np.random.default_rng(args.seed).permutation(rows_to_label(archive, read_mixture(args.mixture), tuple(args.keys) or ("",)))
    logits = np.full(len(archive.labels), np.nan, np.float32)
    end = time.monotonic() + args.minutes * 60
    for first in range(0, len(chosen), CHUNK):
        part = chosen[first : first + CHUNK]
        logits[part] = quick_scores(net, [Sample(archive.row(index), int(archive.labels[index]), None) for index in part.tolist()], device)
        np.save(args.to, logits)
        known = ~np.isnan(logits)
        agreed = np.mean((logits[known] > 0) == archive.labels[known].astype(bool))
        print(f"{int(known.sum())} of {len(chosen)} rows, {agreed:.1%} as labelled", flush=True)
        if time.monotonic() >= end:
            break


if __name__ == "__main__":
    main()
