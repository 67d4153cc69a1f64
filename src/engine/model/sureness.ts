/** As many of a window's greatest token logits say how sure the token head is of it. */
const SURE_TOKENS = 8;

/**
 * How sure the token head is that a window holds an attack: the mean of its greatest token logits, special tokens left
 * out; 0 without any.
 *
 * @param tokenLogits one a token, the special ones at both ends included
 * @see models/training/MANIFEST.md, "From logits to a verdict"
 */
export function sureness(tokenLogits: readonly number[] | undefined): number {
  const greatest = (tokenLogits ?? [])
    .slice(1, -1)
    .sort((a, b) => b - a)
    .slice(0, SURE_TOKENS);
  return greatest.reduce((sum, one) => sum + one, 0) / Math.max(1, greatest.length);
}
