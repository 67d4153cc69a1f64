import type { Calibration } from './manifest.js';

/**
 * A decoded reading is lower-case, without its layout, and often a scrap: not what the model was trained on.
 * On benign dev texts the model is too sure of such readings by about this much log-odds, while attacks that
 * were really hidden stay far above the threshold.
 */
export const DEFAULT_DERIVED = -1.5;

/** The window's place in the input, and the token head's result for it. */
export interface WindowPlace {
  /** Windows of its text. */
  readonly windows: number;
  /** True for a decoded reading. */
  readonly derived: boolean;
  /** See `tokenConfidence`. */
  readonly tokenConfidence: number;
}

/** The probability, 0..1, that a text holds an injection, by one of its windows; its worst window counts. */
export function calibrate(logit: number, place: WindowPlace, calibration: Calibration): number {
  const { scale, bias, per_window: perWindow, sure } = calibration;
  // Of many benign windows some score high by chance, so a long text needs more the less confident the token head is.
  const penalty = sure === undefined ? 1 : Math.max(0, sure - place.tokenConfidence);
  const strictness = perWindow * Math.log(Math.max(1, place.windows)) * penalty;
  const shift = place.derived ? (calibration.derived ?? DEFAULT_DERIVED) : 0;
  return toProbability(scale * logit + bias - strictness + shift);
}

export function toProbability(logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds));
}

/** Number of greatest token logits that the confidence is the mean of. */
const CONFIDENT_TOKENS = 8;

/**
 * Returns the token head's confidence that a window holds an attack: the mean of its greatest token logits, special tokens and those of
 * the task left out; 0 without any.
 *
 * @param tokenLogits one a token, the special ones at both ends included
 * @param taskTokens how many at the end are the task's
 * @see models/training/MANIFEST.md, "From logits to a verdict"
 */
export function tokenConfidence(tokenLogits: readonly number[] | undefined, taskTokens = 0): number {
  const greatest = windowLogits(tokenLogits, taskTokens)
    .sort((a, b) => b - a)
    .slice(0, CONFIDENT_TOKENS);
  return greatest.reduce((sum, one) => sum + one, 0) / Math.max(1, greatest.length);
}

/** The token logits of the window's own tokens. */
export function windowLogits(tokenLogits: readonly number[] | undefined, taskTokens: number): number[] {
  return tokenLogits?.slice(1, -1 - taskTokens) ?? [];
}
