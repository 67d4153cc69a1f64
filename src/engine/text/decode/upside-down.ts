import type { Replacement } from '../replacement.js';

const TURNED_LETTERS = 'ɐqɔpǝɟƃɓɥᴉıɾʞןɯuodbɹsʇnʌʍxʎz¿¡˙ʻ';
const PLAIN_LETTERS = 'abcdefgghiijklmnopqrstuvwxyz?!.,';
const TURNED: ReadonlyMap<string, string> = new Map(
  [...TURNED_LETTERS].map((letter, i) => [letter, PLAIN_LETTERS.charAt(i)]),
);
const LINE = /[^\n]*[ɐɔǝɟƃɥɾʞɯɹʇʌʍʎ][^\n]*/g;
const SURE = /[ɐɔǝɟƃɥɾʞɯɹʇʌʍʎ]/g;

/** Reads lines that are written upside down, which run backwards. */
export function decodeUpsideDown(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(LINE)) {
    const [line] = match;
    // Phonetic script has some of these letters among plain ones.
    if ((line.match(SURE)?.length ?? 0) < Math.max(4, line.length / 8)) continue;
    const turned = [...line].reverse().map((letter) => TURNED.get(letter.toLowerCase()) ?? letter);
    found.push({ start: match.index, end: match.index + line.length, text: turned.join(''), transform: 'upside-down' });
  }
  return found;
}
