import type { Span } from '../span.js';
import type { OffsetMap } from './offset-map.js';

/**
 * The kind of text that a view shows. `raw` is the input itself (made well-formed); every other kind is folded
 * (NFKC, lower case, white space and confusables normalised), so that one pattern serves them all.
 * `squeezed` is deobfuscated text: spaced-out letters, leet and run-together words. The name is older than that term
 * and stays, since rule files and stored evidence use it.
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

/** A part of the input that was not read in some way because of a limit. */
export interface Unseen {
  readonly span: Span;
  /** The transform that stopped, e.g. `base64`. The raw and folded views always show everything. */
  readonly transform: string;
  /** The limit that stopped it, e.g. `maxDepth`. */
  readonly limit: string;
}

/** All views of one input, and what the limits left out. */
export interface ViewSet {
  readonly views: readonly View[];
  readonly unseen: readonly Unseen[];
}

/**
 * Bounds on the views of one input. Lengths in UTF-16 code units. The raw and folded views are never bounded;
 * what a limit keeps from being read is listed in `ViewSet.unseen`.
 */
export interface TextLimits {
  /** Maximum number of nested decodings: base64 in base64 in percent is 3. */
  readonly maxDepth: number;
  /** Views besides raw and folded, for each piece of the input. */
  readonly maxViews: number;
  /** All derived views together may be this many times as long as the input, ... */
  readonly derivedFactor: number;
  /** ... plus this much, so that short inputs are read completely, ... */
  readonly derivedBase: number;
  /** ... but never longer than this. */
  readonly maxDerived: number;
  /** Text kept on either side of a decoded run; rules may match across its edge. */
  readonly context: number;
  /** Longer inputs are decoded in pieces of this length, so that memory stays bounded. */
  readonly piece: number;
  /** Length by which each piece overlaps the next. */
  readonly pieceOverlap: number;
}

/** Generous for plausible texts: the views of 1 kB may add 20 kB, those of 1 MB may add 4 MB. */
export const DEFAULT_TEXT_LIMITS: TextLimits = {
  maxDepth: 3,
  maxViews: 24,
  derivedFactor: 4,
  derivedBase: 16_384,
  maxDerived: 1 << 24,
  context: 320,
  piece: 1 << 20,
  pieceOverlap: 2048,
};
