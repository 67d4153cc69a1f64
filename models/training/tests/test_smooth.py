"""Channels that carry great values."""

import numpy as np
import torch

from portcullis_train.release.smooth import LIMITS, Divided, greatest_values, smooth_quantisation
from portcullis_train.training.net import Screener, padded


def test_same_values_and_no_great_channels() -> None:
    """The net says what it said, and no watched channel carries more than its limit."""
    torch.manual_seed(2)
    net = Screener(300).eval()
    net.layers[1].norm1.weight.data[7] = 40.0
    ids, offsets = np.arange(3, 203), np.arange(0, 201, 20)
    given = (*padded([range(3, 23)], [range(30, 40)]), torch.tensor([2]))
    with torch.no_grad():
        before = net(*given)
        smooth_quantisation(net, ids, offsets)
        after = net(*given)
    assert torch.allclose(before[0], after[0], atol=1e-4)
    assert torch.allclose(before[1], after[1], atol=1e-4)
    assert isinstance(net.layers[1].up, Divided)
    assert float(net.layers[1].up.share.min()) < 0.5
    assert net.positions.weight.shape[0] == 321
    assert set(LIMITS) == {name for _, name in greatest_values(Screener(300), ids, offsets)}
