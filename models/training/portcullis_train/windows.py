"""Windows over a token sequence, and their labels from a span."""

CONTENT = 254
STRIDE = 192
# A window over LOOK_ABOVE is looked at again, cropped to LOOK tokens around its surest token.
LOOK = 96
LOOK_ABOVE = -1.5


def window_starts(tokens: int, content: int = CONTENT, stride: int = STRIDE) -> list[int]:
    """Start positions of the windows over `tokens` content tokens; the last one ends at the end."""
    if tokens <= content:
        return [0]
    starts = list(range(0, tokens - content, stride))
    starts.append(tokens - content)
    return starts


def looks_again(tokens: int, logit: float) -> bool:
    """Whether a window of so many tokens gets a second look."""
    return tokens > LOOK and logit > LOOK_ABOVE


def look_range(tokens: int, surest: int) -> slice:
    """The part of a window that the second look sees."""
    start = max(0, min(surest - LOOK // 2, tokens - LOOK))
    return slice(start, start + LOOK)


def seen(logit: float, look: float | None) -> float:
    """The logit that counts: an accident of the crop is hot once, an attack twice."""
    return logit if look is None else (logit + look) / 2


def covered(start: int, end: int, span: tuple[int, int]) -> float:
    """Share of the token range `span` that the window `[start, end)` holds."""
    inside = min(end, span[1]) - max(start, span[0])
    return max(0, inside) / max(1, span[1] - span[0])
