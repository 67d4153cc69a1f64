import { COMMON_WORDS } from '../pattern/common-words.js';
import type { Clause } from './clause.js';

/** Stands for `\b` until its neighbours are known: a code point that is no character. */
export const EDGE = '\uffff';

/** The weight of a clause that nearly every text holds. */
export const USELESS = 1000;

/** What the alphabet of `symbols.ts` takes for space, and the marks that every text is full of. */
const NOISE = /[\p{Cc} "#'*\-_`|~>.,]+/gu;

/** Alone they say little, but something: a letter that is no word by itself, a sign that prose has seldom. */
const RARE_ALONE = /^ +[bcdfghj-npqu-z] +$|[+@\\^{}[\]<=&$%]/;
const RARE_WEIGHT = 2;

/**
 * How common a clause is likely to be: the sum over its texts, each letter halving it. Fewer than two letters, digits or
 * telling marks in one of its texts make it useless.
 */
export function clauseWeight(clause: Clause): number {
  let sum = 0;
  for (const text of clause) {
    const words = text.replace(NOISE, ' ').trim();
    const size = /[^\0-\x7f]/.test(words) ? 2 * words.length : words.length;
    if (size < 2) {
      if (!RARE_ALONE.test(text)) return USELESS;
      sum += RARE_WEIGHT;
      continue;
    }
    // Texts in other scripts, and so their words, are rarer than those in this one.
    if (/[^\0-\x7f]/.test(words)) {
      sum += 0.1 * 0.5 ** size;
      continue;
    }
    // An ending is seen far more often than a word that begins with the same letters.
    const ending = text.startsWith(words) ? 2 : 1;
    sum += COMMON_WORDS.has(words) ? 1 : ending * 0.5 ** size;
  }
  return sum;
}

/** Leaves out each text that holds another one of the clause: the other is there whenever it is. */
export function shortestTexts(clause: Clause): Clause {
  const kept: string[] = [];
  for (const text of [...new Set(clause.map(settleEdges))].sort((a, b) => a.length - b.length)) {
    if (!kept.some((short) => text.includes(short))) kept.push(text);
  }
  return kept;
}

/** Settles word edges: an edge beside an ASCII letter or digit is a space in the alphabet of `symbols.ts`. */
function settleEdges(literal: string): string {
  return literal
    .replace(/(.?)\uffff+(?=(.?))/gsu, (_, left: string, right: string) =>
      isWord(left) === isWord(right) ? left : `${left} `,
    )
    .replace(/ {2,}/g, ' ');
}

const isWord = (letter: string): boolean => /^[a-z0-9]$/.test(letter);
