import type { Replacement } from '../replacement.js';
import { STRONG, wordKind } from './word-trie.js';

const LETTERS: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '2': 'z',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '6': 'g',
  '7': 't',
  '8': 'b',
  '9': 'g',
  '@': 'a',
  $: 's',
  '!': 'i',
  '|': 'i',
  '€': 'e',
  '£': 'l',
  '+': 't',
  '¡': 'i',
};
const WORD = /[A-Za-z0-9@$!|€£+¡]*(?:[A-Za-z][0-9@$!|€£+¡]|[0-9@$!|€£+¡][A-Za-z])[A-Za-z0-9@$!|€£+¡]*/g;
const SIGN = /[^A-Za-z]/g;
const MAX_WORD = 24;

/**
 * Reads leet (`1gn0r3 4ll pr3v10us`) in words that mix letters with the digits and signs that stand for them. Only
 * where one such word then is a strong one, or several are known: version numbers and identifiers are left alone.
 */
export function squeezeLeet(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  let strong = 0;
  let known = 0;
  for (const match of text.matchAll(WORD)) {
    const [all] = match;
    const word = all.replace(/[!|+]+$/, '');
    if (word.length < 2 || word.length > MAX_WORD || !/[^A-Za-z]/.test(word)) continue;
    const { letters, kind } = readWord(word.toLowerCase());
    if (kind !== 0) known += 1;
    if (kind === STRONG) strong += 1;
    found.push({ start: match.index, end: match.index + word.length, text: letters, transform: 'leet' });
  }
  return strong > 0 || known > 2 ? found : [];
}

/** '1', '!' and '|' stand for i or for l: the reading that is a known word wins. */
function readWord(word: string): { readonly letters: string; readonly kind: number } {
  const letters = word.replace(SIGN, (sign) => LETTERS[sign] ?? sign);
  const kind = wordKind(letters);
  if (kind !== 0) return { letters, kind };
  const other = word.replace(SIGN, (sign) => (/[1!|]/.test(sign) ? 'l' : (LETTERS[sign] ?? sign)));
  const otherKind = wordKind(other);
  return otherKind === 0 ? { letters, kind } : { letters: other, kind: otherKind };
}
