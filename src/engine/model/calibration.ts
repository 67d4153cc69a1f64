import type { Calibration } from './manifest.js';

/** The probability, 0..1, that `windows` windows with this greatest logit hold an injection. */
export function calibrate(logit: number, windows: number, calibration: Calibration): number {
  const { scale, bias, per_window: perWindow } = calibration;
  return 1 / (1 + Math.exp(-(scale * logit + bias - perWindow * Math.log(Math.max(1, windows)))));
}
