import type { Span } from '../span.js';
import { IDENTITY_MAP, type OffsetMap } from './offset-map.js';

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
