import { IDENTITY_MAP, type OffsetMap } from '../offset-map.js';
import type { Rewritten } from '../rewrite.js';
import type { Features } from '../scan-features.js';
import { REVERSED, shiftLetters } from './cipher-words.js';

/** A reading of the whole text, as long as the text. */
export interface CipherReading {
  readonly transform: string;
  readonly make: () => Rewritten;
}

const MIN_REVERSED = 2;

/**
 * The text with its letters shifted back, backwards, or with its words in reverse order, where its words show that this
 * makes sense. `chain` says what was undone already and `before` what the text it was made from showed: neither is
 * done again.
 */
export function readCiphers(
  text: string,
  chain: readonly string[],
  features: Features,
  before: Features | undefined,
): readonly CipherReading[] {
  const { tags } = features;
  const readings: CipherReading[] = [];
  if (tags !== undefined) {
    if (!chain.includes('rot13')) readings.push(...readCaesar(text, tags, before?.tags));
    if (isNew(REVERSED, tags, before?.tags) && !chain.includes('reversed')) {
      readings.push({ transform: 'reversed', make: () => reverseText(text) });
    }
  }
  if (features.backwardOrder && before?.backwardOrder !== true && !chain.includes('reversed-words')) {
    readings.push({ transform: 'reversed-words', make: () => reverseWords(text) });
  }
  return readings;
}

function isNew(tag: number, tags: Uint32Array, before: Uint32Array | undefined): boolean {
  const count = tags[tag] as number;
  return count >= MIN_REVERSED && count > (before?.[tag] ?? 0);
}

/** So many words of a shifted alphabet are no chance. */
const MIN_WORDS = 2;
/** Readings of one text; more is a list of ciphers. */
const MAX_SHIFTS = 3;

/**
 * Reads ROT13 and the other Caesar shifts of which the text shows words. `tags` counts the words of each shift, `before`
 * those of the text that this one was made from.
 */
function readCaesar(text: string, tags: Uint32Array, before: Uint32Array | undefined): readonly CipherReading[] {
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

/** The text backwards, code point by code point. */
function reverseText(text: string): Rewritten {
  const { length } = text;
  const map: OffsetMap = {
    identity: false,
    toInput: ({ start, end }) => ({ start: length - end, end: length - start }),
  };
  const pieces: string[] = [];
  for (let end = length; end > 0; end -= PIECE) pieces.push(reversePiece(text, Math.max(0, end - PIECE), end));
  // Pairs come out with their halves exchanged, also those that a piece's edge parted.
  const text2 = pieces.join('').replace(/([\udc00-\udfff])([\ud800-\udbff])/g, '$2$1');
  return { text: text2, map };
}

const PIECE = 4096;

function reversePiece(text: string, from: number, to: number): string {
  const units = new Uint16Array(to - from);
  for (let i = from; i < to; i += 1) units[to - 1 - i] = text.charCodeAt(i);
  return String.fromCharCode(...units);
}

const WORD = /[^\s.,;:!?()[\]{}<>"“”]+/g;

/** The words of the text in reverse order, with single spaces and no punctuation. */
function reverseWords(text: string): Rewritten {
  const starts: number[] = [];
  const ends: number[] = [];
  for (const match of text.matchAll(WORD)) {
    starts.push(match.index);
    ends.push(match.index + match[0].length);
  }
  const count = starts.length;
  const offsets: number[] = [];
  const words: string[] = [];
  let length = 0;
  for (let i = count - 1; i >= 0; i -= 1) {
    const word = text.slice(starts[i], ends[i]);
    offsets.push(length);
    words.push(word);
    length += word.length + 1;
  }
  /** The reversed word that holds the unit; the space after it counts as its own. */
  const wordAt = (unit: number): number => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((offsets[middle] as number) <= unit) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  };
  const map: OffsetMap = {
    identity: false,
    toInput({ start, end }) {
      if (count === 0) return { start: 0, end: 0 };
      const first = wordAt(start);
      const last = wordAt(Math.max(start, end - 1));
      // Within one word the offsets run forwards, so that a part of it maps to that part.
      const from = count - 1 - last;
      if (first === last) {
        const shift = (starts[from] as number) - (offsets[first] as number);
        return { start: start + shift, end: Math.min(end + shift, Math.max(start + shift, ends[from] as number)) };
      }
      return { start: starts[from] as number, end: ends[count - 1 - first] as number };
    },
  };
  return { text: words.join(' '), map };
}
