"""Text preparation before tokenising, version 1. The JavaScript runtime has the same steps.

The steps use ASCII tables and `\\p{M}` only, so that both sides agree on every string.
"""

import re
import unicodedata

VERSION = 1
MARK_RUN = 30
WORD_RUN = 32

_SURROGATE = re.compile("[\ud800-\udfff]")
_SPECIAL = re.compile(r"\[(?=(?:CLS|SEP|PAD|MASK|UNK)\])")
# White space and punctuation of ASCII end a run; every other code point belongs to one.
_LONG_RUN = re.compile(rf"[^\t-\r !-/:-@\[-`{{-~]{{{WORD_RUN + 1},}}")


def _cap_marks(text: str) -> str:
    """Keep the first 30 combining marks of each run (UAX #15, stream-safe text)."""
    if text.isascii():
        return text
    kept: list[str] = []
    run = 0
    for char in text:
        run = run + 1 if unicodedata.category(char)[0] == "M" else 0
        if run <= MARK_RUN:
            kept.append(char)
    return "".join(kept)


def _split_run(match: re.Match[str]) -> str:
    run = match.group()
    return " ".join(run[i : i + WORD_RUN] for i in range(0, len(run), WORD_RUN))


def prepare_text(text: str) -> str:
    """Return `text` as the tokenizer must see it."""
    text = _SURROGATE.sub("\ufffd", text)
    text = _cap_marks(text)
    text = _SPECIAL.sub("[ ", text)
    return _LONG_RUN.sub(_split_run, text)
