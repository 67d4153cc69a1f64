import type { TokenWindow } from './windows.js';

/** Tokens without a positive value that a stretch may step over. */
const BRIDGE = 6;

/**
 * The densest stretch of tokens that the token head holds for an attack: the run, over small gaps, with
 * the greatest sum of positive logits. Undefined where no token is positive. O(tokens).
 */
export function densestStretch(logits: readonly number[]): TokenWindow | undefined {
  let best: { start: number; end: number; sum: number } | undefined;
  let current: { start: number; end: number; sum: number } | undefined;
  logits.forEach((logit, index) => {
    if (!(logit > 0)) return;
    if (current !== undefined && index - current.end <= BRIDGE) {
      current = { start: current.start, end: index + 1, sum: current.sum + logit };
    } else {
      current = { start: index, end: index + 1, sum: logit };
    }
    if (best === undefined || current.sum > best.sum) best = current;
  });
  return best && { start: best.start, end: best.end };
}
