"""`locate`: where long attacks without a known span are most suspicious.

An attack longer than a window has no label of its own window by window. Multiple-instance learning takes the window that
a trained net finds most suspicious (Maron and Lozano-Pérez, "A Framework for Multiple-Instance Learning", 1998).
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ..data.prepare import write_archive
from ..text.windows import CONTENT, window_starts
from .net import screener
from .sampling import Archive, Sample
from .train import quick_scores


def without_window(archive: Archive) -> np.ndarray:
    """The attacks that no window of known label can be cut from."""
    return np.flatnonzero((archive.labels == 1) & (archive.spans[:, 0] < 0) & (np.diff(archive.offsets) > CONTENT))


def main() -> None:
    """Command line of `locate`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    archive = Archive.load(args.work / "train.npz")
    net = screener(torch.load(args.weights, map_location="cpu"))
    device = torch.device("cpu")
    windows = np.full_like(archive.spans, -1)
    owners: list[tuple[int, int]] = []
    samples: list[Sample] = []
    for index in without_window(archive).tolist():
        ids = archive.row(index)
        for start in window_starts(len(ids)):
            owners.append((index, start))
            samples.append(Sample(ids[start : start + CONTENT], 1, None, int(archive.channels[index]), archive.task(index)))
    best: dict[int, tuple[float, int]] = {}
    for (index, start), score in zip(owners, quick_scores(net, samples, device), strict=True):
        best[index] = max(best.get(index, (-np.inf, 0)), (float(score), start))
    for index, (_, start) in best.items():
        windows[index] = start, start + CONTENT
    write_archive(replace(archive, windows=windows).__dict__, args.work)
    print(f"{len(best)} attacks located")


if __name__ == "__main__":
    main()
