"""`label`: a teacher's opinion of the windows that a student finds hard, for `train --labelled`.

The windows are those that `train` would show with the same mixture, rounds and seed. The student looks first, and what it is sure
and right about is left to chance (`hard_samples`), so that the teacher's time goes to windows that teach. A window that the teacher
cannot read (more than `UNREADABLE` of its pieces unknown to it) keeps its label alone.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ..paths import HERE
from ..text.encode import load_tokenizer
from .sampling import Archive, Sample, batches, read_mixture, round_samples, write_labelled
from .teacher import Teacher
from .train import hard_samples, quick_scores, student

UNREADABLE = 0.1
GROUP = 24


def readable(samples: list[Sample], table: np.ndarray, unknown: int) -> np.ndarray:
    """Whether the teacher knows the pieces of each window; `table` gives its piece for each of the student's."""
    return np.array([(table[sample.ids] == unknown).mean() <= UNREADABLE for sample in samples], bool)


def main() -> None:
    """Command line of `label`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mpnet", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--teacher", type=Path, required=True, help="weights of `train --mpnet`")
    parser.add_argument("--init", type=Path, required=True, help="weights of the student that chooses the windows")
    parser.add_argument("--mixture", type=Path, default=HERE / "mixture.json")
    parser.add_argument("--rounds", type=int, default=6, help="rounds an epoch")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", type=Path, required=True, help="file that the windows and their logits are written to")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    teacher = Teacher(args.mpnet, load_tokenizer(args.work / "tokenizer.json")).to(device)
    teacher.load_state_dict(torch.load(args.teacher, map_location=device))
    table = teacher.table.cpu().numpy()
    small = student(args.init, args.work).to(device)
    archive, mixture = Archive.load(args.work / "train.npz"), read_mixture(args.mixture)
    end = time.monotonic() + args.minutes * 60
    kept: list[Sample] = []
    number = 0
    while time.monotonic() < end:
        samples = round_samples(archive, mixture, number, args.rounds, args.seed)
        plan = batches(samples, 2048, np.random.default_rng([args.seed, number]))
        for first in range(0, len(plan), GROUP):
            rng = np.random.default_rng([args.seed, number, first])
            hard = [one for batch in plan[first : first + GROUP] for one in hard_samples(small, batch, device, rng)]
            fits = readable(hard, table, teacher.unknown)
            read = [one for one, fit in zip(hard, fits, strict=True) if fit]
            logits = quick_scores(teacher, read, device)
            kept += [replace(one, logit=float(logit)) for one, logit in zip(read, logits, strict=True)]
            kept += [one for one, fit in zip(hard, fits, strict=True) if not fit]
            if time.monotonic() >= end:
                break
        number += 1
        write_labelled(args.to, kept)
        agreed = np.mean([(one.logit > 0) == one.label for one in kept if one.logit is not None])
        print(f"round {number}: {len(kept)} windows, {sum(one.logit is not None for one in kept)} read by the teacher, {agreed:.1%} as labelled", flush=True)


if __name__ == "__main__":
    main()
