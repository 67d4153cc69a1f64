/** A part of a view's text with the text around it. All offsets are in the view, UTF-16 code units. */
export interface Segment {
  /** Matches that start in `[start, end)` belong to this segment. */
  readonly start: number;
  readonly end: number;
  /** What is looked at: the segment and up to `REACH` characters on both sides. */
  readonly from: number;
  readonly to: number;
}

/** Segments keep a long text's cost per character that of a short one: what is far apart is never held together. */
const SEGMENT = 2048;
/** The longest match that is found for sure wherever the cut falls. */
export const REACH = 256;

/** Cuts a text into segments, on code-point edges; a short text is one. */
export function cutSegments(text: string): readonly Segment[] {
  const segments: Segment[] = [];
  let start = 0;
  while (start < text.length) {
    const rest = text.length - start;
    const end = rest <= SEGMENT + REACH ? text.length : edge(text, start + SEGMENT);
    segments.push({
      start,
      end,
      from: start === 0 ? 0 : edge(text, start - REACH),
      to: end === text.length ? end : edge(text, Math.min(text.length, end + REACH)),
    });
    start = end;
  }
  return segments;
}

/** The offset itself, or one before it where it would split a surrogate pair. */
function edge(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return at > 0 && at < text.length && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
