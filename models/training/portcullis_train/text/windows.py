"""Windows over a token sequence, and their labels from a span."""

CONTENT = 254
STRIDE = 192
# Of a task its last tokens are read, at most so many.
TASK = 64
# How sure the token head is of a window: the mean of so many of its greatest token logits.
SURE_TOKENS = 8


def window_starts(tokens: int, content: int = CONTENT, stride: int = STRIDE) -> list[int]:
    """Start positions of the windows over `tokens` content tokens; the last one ends at the end."""
    if tokens <= content:
        return [0]
    starts = list(range(0, tokens - content, stride))
    starts.append(tokens - content)
    return starts


def covered(start: int, end: int, span: tuple[int, int]) -> float:
    """Share of the token range `span` that the window `[start, end)` holds."""
    inside = min(end, span[1]) - max(start, span[0])
    return max(0, inside) / max(1, span[1] - span[0])
