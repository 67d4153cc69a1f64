/**
 * A half-open range `[start, end)` of UTF-16 code units, `0 <= start <= end <= text.length`.
 * Spans that leave the engine lie on code-point edges of the original input.
 */
export interface Span {
  readonly start: number;
  readonly end: number;
}
