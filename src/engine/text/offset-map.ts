import type { Span } from '../span.js';

/**
 * Leads from offsets in a view back to offsets in the original input.
 * Both sides count UTF-16 code units. Monotone: a later view offset never maps to an earlier start; the views
 * whose chain holds `reversed` or `reversed-words` alone run the other way.
 */
export interface OffsetMap {
  /** True when view and input have the same offsets, so that spans can be passed through. */
  readonly identity: boolean;
  /**
   * The smallest span of the input that produced the view's span. O(log n) or better. Code-point edges of the
   * view lead to code-point edges of the input.
   */
  toInput(span: Span): Span;
}

/** The map of a view whose offsets are those of the input. */
export const IDENTITY_MAP: OffsetMap = { identity: true, toInput: (span) => span };

/** The map of a view that was made from a text which was itself made from the input. */
export function composeMaps(view: OffsetMap, text: OffsetMap): OffsetMap {
  if (view.identity) return text;
  if (text.identity) return view;
  return { identity: false, toInput: (span) => text.toInput(view.toInput(span)) };
}

/**
 * The edits of one rewriting, three numbers each: view start, input start, view end. Between two edits the view
 * copies the input unit by unit, so where an edit ends in the input follows from where the next one starts.
 */
export type Edits = ArrayLike<number>;

/** Makes the map of a view that copies its input but for `edits` (ascending). Lookups are O(log edits). */
export function segmentMap(edits: Edits, viewLength: number, inputLength: number): OffsetMap {
  const count = edits.length / 3;
  if (count === 0 && viewLength === inputLength) return IDENTITY_MAP;
  const inputEnd = (k: number): number =>
    k + 1 < count
      ? at(edits, 3 * k + 4) - (at(edits, 3 * k + 3) - at(edits, 3 * k + 2))
      : inputLength - (viewLength - at(edits, 3 * k + 2));
  const startOf = (unit: number): number => {
    const k = lastAtOrBefore(edits, count, unit);
    if (k < 0) return unit;
    const end = at(edits, 3 * k + 2);
    return unit < end ? at(edits, 3 * k + 1) : inputEnd(k) + unit - end;
  };
  const endOf = (unit: number): number => {
    const k = lastAtOrBefore(edits, count, unit);
    if (k < 0) return unit + 1;
    const end = at(edits, 3 * k + 2);
    return unit < end ? inputEnd(k) : inputEnd(k) + unit - end + 1;
  };
  return {
    identity: false,
    toInput({ start, end }: Span): Span {
      if (start < end) return { start: startOf(start), end: endOf(end - 1) };
      const edge = start < viewLength ? startOf(start) : inputLength;
      return { start: edge, end: edge };
    },
  };
}

/** The last edit that starts at or before the unit, -1 when none does. */
function lastAtOrBefore(edits: Edits, count: number, unit: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(edits, 3 * middle) <= unit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function at(edits: Edits, index: number): number {
  return edits[index] ?? 0;
}
