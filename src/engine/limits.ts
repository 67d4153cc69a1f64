import type { BreakerLimits } from './model/circuit-breaker.js';

/** Bounds of one engine. Lengths in UTF-16 code units, times in milliseconds. */
export interface EngineLimits {
  /** Characters that the model reads of a longer input: pieces of `MODEL_PIECE_LENGTH`, spread evenly. */
  readonly modelLength: number;
  /** Decoded, squeezed or hidden texts that the model reads besides the input, longest first. */
  readonly modelViews: number;
  /** Maximum length of these texts together. */
  readonly modelViewLength: number;
  /** Minimum length of such a text; shorter ones are not given to the model. */
  readonly modelViewMinLength: number;
  /** Model runs a call; what is left out is stated in `unseen`. */
  readonly modelWindows: number;
  /** Findings in an explanation, strongest first. */
  readonly findings: number;
  /** Characters of an excerpt. */
  readonly excerptLength: number;
  readonly breaker: BreakerLimits;
}

/** Long enough for several windows of any script. */
export const MODEL_PIECE_LENGTH = 8_192;

export const DEFAULT_LIMITS: EngineLimits = {
  modelLength: 131_072,
  modelViews: 6,
  modelViewLength: 16_384,
  modelViewMinLength: 12,
  modelWindows: 256,
  findings: 100,
  excerptLength: 120,
  breaker: { failures: 3, restMs: 5_000, maxRestMs: 60_000 },
};

/** Default time a call may take before the rules answer alone. */
export const DEFAULT_TIMEOUT_MS = 15_000;
