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
const WORD_SIGN = /[A-Za-z0-9@$!|€£+¡]/;
const SIGN = /[^A-Za-z]/g;
const MAX_WORD = 24;
/** Shorter words are met by chance. */
const MIN_KNOWN = 4;

/**
 * Reads leet (`1gn0r3 4ll pr3v10us`) in words that mix letters with the digits and signs that stand for them. Only
 * where one such word then is a strong one, or several are known: version numbers and identifiers are left alone.
 * `spots` are offsets within such words, ascending.
 */
export function squeezeLeet(text: string, spots: readonly number[]): readonly Replacement[] {
  const found: Replacement[] = [];
  let strong = 0;
  let known = 0;
  let read = 0;
  for (const spot of spots) {
    if (spot < read) continue;
    let start = spot;
    while (start > read && spot - start < MAX_WORD && WORD_SIGN.test(text.charAt(start - 1))) start -= 1;
    read = spot + 1;
    while (read < text.length && read - spot < MAX_WORD && WORD_SIGN.test(text.charAt(read))) read += 1;
    const word = text.slice(start, read).replace(/[!|+]+$/, '');
    if (word.length < 2 || word.length > MAX_WORD || !/[A-Za-z]/.test(word) || !/[^A-Za-z]/.test(word)) continue;
    const { letters, kind } = readWord(word.toLowerCase());
    if (kind !== 0 && word.length >= MIN_KNOWN) known += 1;
    if (kind === STRONG) strong += 1;
    found.push({ start, end: start + word.length, text: letters, transform: 'leet' });
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
