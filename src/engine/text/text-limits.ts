/**
 * Bounds on the views made of one input. Lengths in UTF-16 code units. The raw and the folded view are never bounded;
 * what a limit keeps from being read otherwise is stated in `ViewSet.unseen`.
 */
export interface TextLimits {
  /** How many decodings may lie within one another, e.g. base64 in base64 in percent is 3. */
  readonly maxDepth: number;
  /** Views besides raw and folded, for each piece of the input. */
  readonly maxViews: number;
  /** All derived views together may be this many times as long as the input, ... */
  readonly derivedFactor: number;
  /** ... and this much longer, so that short inputs are read wholly, ... */
  readonly derivedBase: number;
  /** ... but never longer than this. */
  readonly maxDerived: number;
  /** What is kept of the text on either side of a decoded piece; rules may span both. */
  readonly context: number;
  /** Longer inputs are decoded piece by piece, so that memory stays bounded; pieces overlap by `pieceOverlap`. */
  readonly piece: number;
  readonly pieceOverlap: number;
}

/** Limits that read all that is plausible: input of 1 kB may grow by 20 kB, input of 1 MB by 4 MB. */
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
