"""The text steps that the JavaScript runtime repeats."""

import pytest

from portcullis_train.text.normal import prepare_text


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("plain text, as it is", "plain text, as it is"),
        ("[SEP] [sep] [ SEP] [[CLS]] [MASK", "[ SEP] [sep] [ SEP] [[ CLS]] [MASK"),
        ("z" * 32, "z" * 32),
        ("z" * 33, "z" * 32 + " z"),
        ("z" * 64, "z" * 32 + " " + "z" * 32),
        ("z" * 20 + "." + "z" * 20, "z" * 20 + "." + "z" * 20),
        ("가" * 40, "가" * 32 + " " + "가" * 8),
        ("\U0001f600" * 33, "\U0001f600" * 32 + " \U0001f600"),
        ("a" + "\u0301" * 35 + "b", "a" + "\u0301" * 30 + "b"),
        ("\ud800x", "\ufffdx"),
        ("", ""),
    ],
)
def test_prepare_text(text: str, prepared: str) -> None:
    assert prepare_text(text) == prepared
