import type { Calibration } from './manifest.js';

/**
 * A decoded reading is lower-case, without its layout, and often a scrap: not what the model was trained on.
 * On honest dev texts the model is too sure of such readings by about this much log-odds, while attacks that
 * were really hidden stay far above the threshold.
 */
export const DEFAULT_DERIVED = -1.5;

/** What the window's text is to the input, and what the token head says of the window. */
export interface WindowPlace {
  /** Windows of its text. */
  readonly windows: number;
  /** True for a decoded reading. */
  readonly derived: boolean;
  /** @see sureness */
  readonly sureness: number;
}

/** The probability, 0..1, that a text holds an injection, by one of its windows; its worst window counts. */
export function calibrate(logit: number, place: WindowPlace, calibration: Calibration): number {
  const { scale, bias, per_window: perWindow, sure } = calibration;
  // Of many honest windows some are hot by accident, so a long text needs more, the less sure the token head is.
  const doubt = sure === undefined ? 1 : Math.max(0, sure - place.sureness);
  const strictness = perWindow * Math.log(Math.max(1, place.windows)) * doubt;
  const shift = place.derived ? (calibration.derived ?? DEFAULT_DERIVED) : 0;
  return 1 / (1 + Math.exp(-(scale * logit + bias - strictness + shift)));
}
