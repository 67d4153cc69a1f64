import type { WindowScore } from '../ports.js';

/** Which windows are looked at again. @see models/training/MANIFEST.md, "Second look" */
export interface SecondLook {
  /** Content tokens that the second look sees, around the window's surest token. */
  readonly tokens: number;
  /** Windows with a greater logit get one. */
  readonly above: number;
}

/** The tokens that a second look at a window sees; undefined where it gets none. O(tokens). */
export function lookAgain(
  ids: readonly number[],
  { logit, tokenLogits }: WindowScore,
  look: SecondLook | undefined,
): readonly number[] | undefined {
  if (look === undefined || tokenLogits === undefined || ids.length <= look.tokens || logit <= look.above) return;
  // The first and last values belong to the special tokens.
  const logits = tokenLogits.slice(1, -1);
  const surest = logits.indexOf(logits.reduce((greatest, one) => Math.max(greatest, one), Number.NEGATIVE_INFINITY));
  const start = Math.max(0, Math.min(surest - Math.floor(look.tokens / 2), ids.length - look.tokens));
  return ids.slice(start, start + look.tokens);
}

/**
 * The score of a window that was looked at twice. An honest window is often hot by an accident of where it was cut,
 * and no more when it is cut otherwise; an attack stays hot.
 */
export const seenTwice = (first: WindowScore, second: WindowScore): WindowScore => ({
  ...first,
  logit: (first.logit + second.logit) / 2,
});
