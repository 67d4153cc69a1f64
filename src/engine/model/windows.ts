/** A half-open range of tokens. */
export interface TokenWindow {
  readonly start: number;
  readonly end: number;
}

/**
 * Windows that together cover `tokens` content tokens: one every `stride`, the last one ending at the
 * end. One empty window for no tokens.
 *
 * @see models/training/MANIFEST.md, "From tokens to windows"
 */
export function planWindows(tokens: number, content: number, stride: number): readonly TokenWindow[] {
  if (tokens <= content) return [{ start: 0, end: tokens }];
  const windows: TokenWindow[] = [];
  for (let start = 0; start + content < tokens; start += stride) windows.push({ start, end: start + content });
  windows.push({ start: tokens - content, end: tokens });
  return windows;
}

/**
 * At most `max` of `length` indices, spread evenly with both ends kept: a text's middle is no better
 * place to hide than its end. Ascending; all of them when they fit.
 */
export function spread(length: number, max: number): readonly number[] {
  if (length <= max) return Array.from({ length }, (_, index) => index);
  if (max <= 1) return max === 1 ? [0] : [];
  return Array.from({ length: max }, (_, index) => Math.round((index * (length - 1)) / (max - 1)));
}
