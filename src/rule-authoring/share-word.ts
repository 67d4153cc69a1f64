import { foldLiteral } from '../engine/rules/pattern/fold-pattern.js';

/** The least that a word and a pattern's literal must share. */
const STEM = 3;

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}]/u;

/** True when a text shares a word with some other texts, or has a word that begins as one of the literals does. */
export function shareWord(text: string, texts: readonly string[], literals: () => readonly string[]): boolean {
  const words = listWords(text);
  const known = new Set(texts.flatMap(listWords));
  if (words.some((word) => known.has(word))) return true;
  const folded = foldLiteral(text);
  return literals().some((literal) => (isWord(literal) ? nearlyIn(literal, words) : folded.includes(literal.trim())));
}

const isWord = (literal: string): boolean => /^[\p{L}\p{M}\p{N}]+$/u.test(literal) && !UNSPACED.test(literal);

const nearlyIn = (literal: string, words: readonly string[]): boolean =>
  literal.length >= STEM &&
  words.some((word) => word.startsWith(literal) || (word.length >= STEM && literal.startsWith(word)));

/** Words; pairs of letters where words aren't spaced; marks and tags too. */
function listWords(text: string): readonly string[] {
  const folded = foldLiteral(text);
  const spaced = (folded.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).flatMap((word) =>
    UNSPACED.test(word)
      ? Array.from({ length: Math.max(0, word.length - 1) }, (_, at) => word.slice(at, at + 2))
      : [word],
  );
  return [...spaced, ...(folded.match(/[^\p{L}\p{M}\p{N}\s.,]{1,2}/gu) ?? [])];
}
