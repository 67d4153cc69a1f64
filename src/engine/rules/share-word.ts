import { foldLiteral } from './fold-literal.js';
import type { Rule } from './types.js';

/** True when a text shares a word (or a word's beginning) with the rule's positive examples. */
export function shareWord(text: string, rule: Rule): boolean {
  const { positive = [], todo_positive = [] } = rule.examples;
  const known = new Set([...positive, ...todo_positive].flatMap((example) => wordsOf(example.text)));
  return wordsOf(text).some((word) => known.has(word));
}

/** Beginnings of words, so that inflections agree; pairs of letters where words aren't spaced; marks and tags too. */
function wordsOf(text: string): readonly string[] {
  const folded = foldLiteral(text);
  const spaced = (folded.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).flatMap((word) =>
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u.test(word)
      ? Array.from({ length: Math.max(0, word.length - 1) }, (_, at) => word.slice(at, at + 2))
      : [word.slice(0, 5)],
  );
  return [...spaced, ...(folded.match(/[^\p{L}\p{M}\p{N}\s.,]{1,2}/gu) ?? [])];
}
