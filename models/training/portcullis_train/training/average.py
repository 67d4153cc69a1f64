"""`average`: the weighted mean of weights that stem from one another, as the weights of a run of their own.

Half-way between two stages of a training may rank dev better than either (a "model soup"): `record/stages.md`.
`export --run NAME` takes it from there.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor


def mean_of(parts: list[tuple[dict[str, Tensor], float]]) -> dict[str, Tensor]:
    """The weighted mean of every tensor; weights need not add up to one. Whole numbers stay those of the first part."""
    total = sum(weight for _, weight in parts)
    if not parts or total <= 0:
        raise ValueError("average needs weights that add up to more than 0")
    first = parts[0][0]
    return {
        name: sum(state[name] * (weight / total) for state, weight in parts) if first[name].is_floating_point() else first[name]
        for name in first
    }


def part(text: str) -> tuple[Path, float]:
    """`FILE` or `FILE*WEIGHT`."""
    path, _, weight = text.partition("*")
    try:
        return Path(path), float(weight or 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: write FILE or FILE*WEIGHT, such as runs/main/weights-003.pt*0.5") from None


def main() -> None:
    """Command line of `average`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--run", required=True, help="name of the run that gets the mean, in WORK/runs/NAME/weights.pt")
    parser.add_argument("parts", nargs="+", type=part, metavar="FILE[*WEIGHT]", help="weights under WORK")
    args = parser.parse_args()

    loaded = [(torch.load(args.work / path, map_location="cpu"), weight) for path, weight in args.parts]
    folder = args.work / "runs" / args.run
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(mean_of(loaded), folder / "weights.pt")


if __name__ == "__main__":
    main()
