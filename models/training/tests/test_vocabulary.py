"""The vocabulary with pieces of other languages."""

import numpy as np

from portcullis_train.data.vocabulary import base_vocabulary, kept_pieces, with_languages


def test_ids_stay_and_none_is_given_twice() -> None:
    """Every piece that is kept has its id; the ids run from 0 without a gap."""
    before = base_vocabulary()
    after = with_languages(before)
    assert all(after[piece] == number for piece, number in before.items() if piece in after)
    assert list(after.values()) == list(range(len(after)))
    assert len(before) - len(set(before) & set(after)) == 4000
    assert len(after) - len(before) == 4000


def test_rare_pieces_go_and_the_numbers_of_special_ones_stay() -> None:
    vocabulary = {"[PAD]": 0, "[unused1]": 1, "[UNK]": 2, "a": 3, "##a": 4, "often": 5, "rare": 6, "##ing": 7}
    shown = np.array([0, 0, 0, 0, 0, 20, 19, 25])
    assert kept_pieces(vocabulary, shown, 20) == {"[PAD]": 0, "[unused1]": 1, "[UNK]": 2, "a": 3, "##a": 4, "often": 5, "##ing": 7}
