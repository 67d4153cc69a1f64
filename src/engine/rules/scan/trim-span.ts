import type { Span } from '../../span.js';

const WORD = /[\p{L}\p{N}]/u;
/** Marks that open something and belong to the finding: tags, brackets, chat-template tokens. */
const OPENING = '<[({#&|';

/** Drops the separators that a pattern took along at its start, and white space at its end. Never empties a span. */
export function trimSpan(text: string, span: Span): Span {
  let { start, end } = span;
  while (end > start + 1 && /\s/.test(text[end - 1] as string)) end--;
  while (start < end - 1) {
    const letter = String.fromCodePoint(text.codePointAt(start) as number);
    if (WORD.test(letter) || OPENING.includes(letter)) break;
    if (start + letter.length >= end) break;
    start += letter.length;
  }
  return { start, end };
}
