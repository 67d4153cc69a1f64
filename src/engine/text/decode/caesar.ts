import { REVERSED, shiftLetters } from '../deobfuscate/cipher-words.js';
import { IDENTITY_MAP } from '../offset-map.js';
import type { WholeReading } from './whole-reading.js';

/** So many words of a shifted alphabet are no chance. */
const MIN_WORDS = 2;
/** Readings of one text; more is a list of ciphers. */
const MAX_SHIFTS = 3;

/**
 * Reads ROT13 and the other Caesar shifts of which the text shows words. `tags` counts words of each shift, `before` those of the text
 * that this one was made of.
 */
export function readCaesar(text: string, tags: Uint32Array, before: Uint32Array | undefined): readonly WholeReading[] {
  const shifts: number[] = [];
  for (let shift = 1; shift < REVERSED; shift += 1) {
    const count = tags[shift] as number;
    if (count >= MIN_WORDS && count > (before?.[shift] ?? 0)) shifts.push(shift);
  }
  shifts.sort((a, b) => (tags[b] as number) - (tags[a] as number));
  return shifts.slice(0, MAX_SHIFTS).map((shift) => ({
    transform: shift === 13 ? 'rot13' : `caesar-${shift}`,
    make: () => ({ text: shiftLetters(text, 26 - shift), map: IDENTITY_MAP }),
  }));
}
