import type { Span } from '../span.js';
import type { OffsetMap } from './offset-map.js';

/**
 * What a view shows. `raw` is the input itself (made well-formed); every other kind is folded
 * (NFKC, lower case, white space and look-alikes normalised), so that one pattern serves them all.
 */
export type ViewKind = 'raw' | 'folded' | 'squeezed' | 'decoded' | 'hidden';

/** One normalised or decoded reading of the input. */
export interface View {
  readonly kind: ViewKind;
  /** The transforms that made it, in order, e.g. `['base64', 'fold']`; empty for `raw`. */
  readonly chain: readonly string[];
  /** Well-formed UTF-16 (no lone surrogate). */
  readonly text: string;
  readonly map: OffsetMap;
}

/** A part of the input that a stated limit kept from being read in some way. */
export interface Unseen {
  readonly span: Span;
  /** The transform that stopped, e.g. `base64`. The raw and folded views always see everything. */
  readonly transform: string;
  readonly limit: string;
}

/** All readings of one input, and what limits left out. */
export interface ViewSet {
  readonly views: readonly View[];
  readonly unseen: readonly Unseen[];
}
