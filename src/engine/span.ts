/**
 * A half-open range `[start, end)` of UTF-16 code units, `0 <= start <= end <= text.length`.
 * Spans that leave the engine lie on code-point edges of the original input.
 */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Reads ranges of code points: `41-5a 61` in hexadecimal, each with its last code point. */
export function codePointRanges(ranges: string): readonly (readonly [first: number, last: number])[] {
  return ranges
    .trim()
    .split(/\s+/)
    .map((range) => {
      const [first = 0, last = first] = range.split('-').map((part) => Number.parseInt(part, 16));
      return [first, last];
    });
}

/** Gives the least span that holds all of some; there must be one. */
export function hullOf(spans: readonly Span[]): Span {
  let start = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const span of spans) {
    start = Math.min(start, span.start);
    end = Math.max(end, span.end);
  }
  return { start, end };
}

/** Joins spans that touch or overlap; sorted by start. */
export function mergeSpans(spans: readonly Span[]): readonly Span[] {
  const merged: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = merged.at(-1);
    if (last === undefined || span.start > last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end };
  }
  return merged;
}

/** A part of a text, wholly inside or outside of some spans. */
export interface MarkedPart extends Span {
  readonly isMarked: boolean;
}

/** Divides a text at the edges of spans; those that touch or overlap are one part. */
export function markedParts(text: string, spans: readonly Span[]): readonly MarkedPart[] {
  const parts: MarkedPart[] = [];
  let at = 0;
  for (const span of mergeSpans(spans)) {
    const start = Math.max(span.start, at);
    const end = Math.min(span.end, text.length);
    if (end <= start) continue;
    if (start > at) parts.push({ start: at, end: start, isMarked: false });
    parts.push({ start, end, isMarked: true });
    at = end;
  }
  if (at < text.length) parts.push({ start: at, end: text.length, isMarked: false });
  return parts;
}

/** Gives the index of the first of some spans whose start, or whose end, isn't before an offset. Both must ascend. */
export function firstFrom(spans: readonly Span[], edge: keyof Span, offset: number): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle] as Span)[edge] < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Moves an offset inside a surrogate pair before it; clamps others to `[0, text.length]`. */
export function edgeBefore(text: string, offset: number): number {
  const edge = Math.min(Math.max(offset, 0), text.length);
  return isLowSurrogate(text.charCodeAt(edge)) && edge > 0 ? edge - 1 : edge;
}

/** Moves an offset inside a surrogate pair behind it; clamps others to `[0, text.length]`. */
export function edgeAfter(text: string, offset: number): number {
  const edge = Math.min(Math.max(offset, 0), text.length);
  return isLowSurrogate(text.charCodeAt(edge)) && edge > 0 ? edge + 1 : edge;
}

/** Whether a code unit is the second half of a surrogate pair. */
function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00;
}
