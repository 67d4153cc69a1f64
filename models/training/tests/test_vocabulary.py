"""The vocabulary with pieces of other languages."""

from portcullis_train.data.vocabulary import base_vocabulary, with_languages


def test_ids_stay_and_none_is_given_twice() -> None:
    """Every piece that is kept has its id; the ids run from 0 without a gap."""
    before = base_vocabulary()
    after = with_languages(before)
    assert all(after[piece] == number for piece, number in before.items() if piece in after)
    assert list(after.values()) == list(range(len(after)))
    assert len(before) - len(set(before) & set(after)) == 4000
    assert len(after) - len(before) == 4000
