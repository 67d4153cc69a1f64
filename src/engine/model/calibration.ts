import type { Calibration } from './manifest.js';

/**
 * A decoded reading is lower-case, without its layout, and often a scrap: not what the model was trained on.
 * On honest dev texts the model is too sure of such readings by about this much log-odds, while attacks that
 * were really hidden stay far above the threshold.
 */
export const DEFAULT_DERIVED = -1.5;

/** What the window's text is to the input. */
export interface WindowPlace {
  /** Windows of its text. */
  readonly windows: number;
  /** True for a decoded reading. */
  readonly derived: boolean;
}

/** The probability, 0..1, that a text whose windows have this greatest logit holds an injection. */
export function calibrate(logit: number, { windows, derived }: WindowPlace, calibration: Calibration): number {
  const { scale, bias, per_window: perWindow } = calibration;
  const shift = derived ? (calibration.derived ?? DEFAULT_DERIVED) : 0;
  return 1 / (1 + Math.exp(-(scale * logit + bias - perWindow * Math.log(Math.max(1, windows)) + shift)));
}
