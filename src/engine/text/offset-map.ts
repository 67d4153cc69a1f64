import type { Span } from '../span.js';

/**
 * Leads from offsets in a view back to offsets in the original input.
 * Both sides count UTF-16 code units. Monotone: a later view offset never maps to an earlier start.
 */
export interface OffsetMap {
  /** True when view and input are the same text, so that spans can be passed through. */
  readonly identity: boolean;
  /** The smallest span of the input that produced the view's span. O(log n) or better. */
  toInput(span: Span): Span;
}
