"""The mean of weights."""

import pytest
import torch

from portcullis_train.training.average import mean_of, part


def test_weighted_mean() -> None:
    """Weights are relative; what is no floating-point number stays as it is."""
    one = {"layer": torch.tensor([0.0, 4.0]), "steps": torch.tensor(7)}
    other = {"layer": torch.tensor([4.0, 8.0]), "steps": torch.tensor(9)}
    mean = mean_of([(one, 3), (other, 1)])
    assert mean["layer"].tolist() == [1.0, 5.0]
    assert mean["steps"].item() == 7


def test_part() -> None:
    """A file with or without a weight; a mistake is said."""
    assert part("a.pt*0.25")[1] == 0.25
    assert part("a.pt")[1] == 1
    with pytest.raises(ValueError):
        mean_of([])
    with pytest.raises(Exception, match="FILE\\*WEIGHT"):
        part("a.pt*much")
