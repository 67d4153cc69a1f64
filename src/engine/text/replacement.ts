import type { Features } from './scan-features.js';

/** A run of a text that a decoder reads as something else. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Where each unit of `text` begins in the source (ascending); without it the run is one piece. */
  readonly starts?: ArrayLike<number> | undefined;
  readonly transform: string;
}

/** Finds what it can read in a text; linear in the text, never throws. */
export type Decoder = (text: string, features: Features) => readonly Replacement[];
