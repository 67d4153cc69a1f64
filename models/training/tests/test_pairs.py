"""Translations beside the labelled texts."""

import numpy as np
import torch

from portcullis_train.training.net import Screener, padded
from portcullis_train.training.pairs import likelihoods, states_of


def test_written_pairs_have_their_share() -> None:
    """A third is drawn of the written ones, and a language's pairs are the rarer the more of them there are."""
    odds = likelihoods(["de"] * 90 + ["fr"] * 10 + ["de"] * 5, 5)
    assert np.isclose(odds[-5:].sum(), 1 / 3)
    assert odds[95] > odds[0]
    assert np.isclose(odds.sum(), 1)


def test_padding_changes_nothing() -> None:
    """A text has the same states alone and beside a longer one."""
    torch.manual_seed(1)
    net = Screener(300).eval()
    with torch.no_grad():
        alone, one = states_of(net, *padded([[7, 8, 9]]))
        beside, two = states_of(net, *padded([[7, 8, 9], [1, 2, 3, 4, 5, 6]]))
    assert all(torch.allclose(first[0], second[0], atol=1e-5) for first, second in zip(alone, beside, strict=True))
    assert torch.allclose(one[0], two[0], atol=1e-5)
    assert len(alone) == 4
