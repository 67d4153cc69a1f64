"""Alignment of pieces, and first vectors."""

import numpy as np
import torch
from scipy.sparse import csr_matrix

from portcullis_train.training.align import counts_of, with_new_pieces


def test_pieces_that_go_together_are_found() -> None:
    """Two sentences share one word each with a third: what is left over goes to what is left over."""
    english = [np.array(one) for one in ([1, 2], [1], [3, 2])]
    other = [np.array(one) for one in ([5, 6], [5], [7, 6])]
    counts = counts_of(english, other, 8).toarray()
    assert counts[5].argmax() == 1
    assert counts[6].argmax() == 2
    assert counts[7].argmax() == 3
    assert np.isclose(counts.sum(), 5)


def test_first_vectors() -> None:
    """A new piece gets the weighted mean of its English pieces; one without counts the mean of all; old ones stay."""
    words = torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    counts = csr_matrix(([9.0, 3.0, 50.0], ([2, 2, 2], [0, 1, 3])), shape=(4, 4))
    grown = with_new_pieces(words, counts, np.array([False, False, True, True]))
    assert grown[:2].tolist() == words.tolist()
    assert torch.allclose(grown[2], torch.tensor([1.5, 0.5]))
    assert torch.allclose(grown[3], words.mean(0))
