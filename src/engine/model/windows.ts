import type { Span } from '../span.js';

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

/** Longer runs without white space are cut, so that no piece is longer than a window. UTF-16 code units. */
const LONGEST_PIECE = 64;

/** White space with the word behind it; of a long word, as much as one piece holds. */
const PIECE = new RegExp(`\\s{1,${LONGEST_PIECE}}|\\S{1,${LONGEST_PIECE}}`, 'gu');

/**
 * Windows over a text for a tokenizer that says no more than how many tokens a piece has: together they
 * cover every character, lie on code-point edges, hold at most `content` tokens each (by the sum of their
 * pieces) and share about `overlap` tokens with the next one.
 */
export function planTextWindows(
  text: string,
  content: number,
  overlap: number,
  countTokens: (piece: string) => number,
): readonly Span[] {
  const pieces = [...text.matchAll(PIECE)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    tokens: countTokens(match[0]),
  }));
  if (pieces.length === 0) return [{ start: 0, end: text.length }];
  const windows: Span[] = [];
  let first = 0;
  while (first < pieces.length) {
    let last = first;
    let tokens = pieces[first]?.tokens ?? 0;
    while (last + 1 < pieces.length && tokens + (pieces[last + 1]?.tokens ?? 0) <= content) {
      last += 1;
      tokens += pieces[last]?.tokens ?? 0;
    }
    windows.push({ start: pieces[first]?.start ?? 0, end: pieces[last]?.end ?? text.length });
    if (last + 1 >= pieces.length) break;
    first = stepBack(pieces, first, last, overlap);
  }
  return windows;
}

/** The piece that the next window starts with: as far before the end of this one as the overlap says. */
function stepBack(
  pieces: readonly { readonly tokens: number }[],
  first: number,
  last: number,
  overlap: number,
): number {
  let next = last + 1;
  let shared = 0;
  while (next - 1 > first && shared + (pieces[next - 1]?.tokens ?? 0) <= overlap) {
    next -= 1;
    shared += pieces[next]?.tokens ?? 0;
  }
  return next;
}
