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
