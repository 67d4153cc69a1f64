import type { Replacement } from '../replacement.js';

const TURNED_LETTERS = 'ɐqɔpǝɟƃɓɥᴉıɾʞןɯuodbɹsʇnʌʍxʎz¿¡˙ʻ';
const PLAIN_LETTERS = 'abcdefgghiijklmnopqrstuvwxyz?!.,';
const TURNED: ReadonlyMap<string, string> = new Map(
  [...TURNED_LETTERS].map((letter, i) => [letter, PLAIN_LETTERS.charAt(i)]),
);
// Every line is looked at once: a pattern that asks for such a letter inside would go over long lines again and again.
const LINE = /[^\n]+/g;
const SURE = /[ɐɔǝɟƃɥɾʞɯɹʇʌʍʎ]/g;

/** Reads lines that are written upside down, which run backwards. */
export function decodeUpsideDown(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(LINE)) {
    const [line] = match;
    // Phonetic script has some of these letters among plain ones.
    if ((line.match(SURE)?.length ?? 0) < Math.max(4, line.length / 8)) continue;
    const turned = [...line].reverse().map((letter) => TURNED.get(letter.toLowerCase()) ?? letter);
    const read = turned.join('');
    const start = match.index;
    // It runs backwards, so that no part of it has a place of its own: each unit stands for the line.
    const starts = new Array<number>(read.length).fill(start);
    found.push({ start, end: start + line.length, text: read, starts, transform: 'upside-down' });
  }
  return found;
}
