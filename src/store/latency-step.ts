const exactBelow = 16;
const stepsADoubling = 8;

/**
 * The step of a latency, for counting: each whole millisecond below 16 has its own, above it a step is 9 % wide.
 * `ms` from 0.
 */
export function latencyStep(ms: number): number {
  const whole = Math.max(0, Math.round(ms));
  if (whole < exactBelow) return whole;
  return exactBelow + Math.floor((Math.log2(whole) - Math.log2(exactBelow)) * stepsADoubling);
}

/** The middle of a step, milliseconds: within 5 % of every latency in it. */
export function latencyOf(step: number): number {
  if (step < exactBelow) return step;
  return exactBelow * 2 ** ((step - exactBelow + 0.5) / stepsADoubling);
}
