import { edgeAfter, edgeBefore, firstFrom, type Span } from '../../span.js';
import { composeMaps, IDENTITY_MAP, type OffsetMap } from '../offset-map.js';
import { keepSpans, type Rewritten } from '../rewrite.js';
import type { Features } from '../scan-features.js';
import { REVERSED, shiftLetters } from './cipher-words.js';

/** A reading of a text, or of those parts of a long one that show words of the cipher. */
export interface CipherReading {
  readonly transform: string;
  /** About as long as the reading. */
  readonly length: number;
  readonly make: () => Rewritten;
}

/** So many words of a shifted or reversed alphabet are no chance. */
const MIN_WORDS = 2;
/** Caesar shifts read of one text; more is a list of ciphers. */
const MAX_SHIFTS = 3;
/** Shorter texts are read completely. In longer ones chance words add up: only places with several count. */
const WHOLE = 12_288;
/** Words of one passage are no farther apart, and a passage reaches no farther beyond them. */
const REACH = 400;

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
  const add = (transform: string, hits: readonly number[], minHits: number, decode: Decode): void => {
    const passages = passagesAround(text, hits, minHits);
    if (passages.length > 0) readings.push(readPassages(text, transform, passages, decode));
  };
  if (tags !== undefined) {
    const isNew = (tag: number): boolean =>
      (tags[tag] as number) >= MIN_WORDS && (tags[tag] as number) > (before?.tags?.[tag] ?? 0);
    if (!chain.includes('rot13')) {
      const shifts = Array.from({ length: REVERSED - 1 }, (_, i) => i + 1).filter(isNew);
      shifts.sort((a, b) => (tags[b] as number) - (tags[a] as number));
      for (const shift of shifts.slice(0, MAX_SHIFTS)) {
        const decode: Decode = (part) => ({ text: shiftLetters(part, 26 - shift), map: IDENTITY_MAP });
        add(shift === 13 ? 'rot13' : `caesar-${shift}`, listHits(features, shift), MIN_WORDS, decode);
      }
    }
    if (isNew(REVERSED) && !chain.includes('reversed')) {
      add('reversed', listHits(features, REVERSED), MIN_WORDS, reverseText);
    }
  }
  const isBackwards = features.backwardOrders.length > 0 && !(before !== undefined && before.backwardOrders.length > 0);
  if (isBackwards && !chain.includes('reversed-words')) {
    add('reversed-words', features.backwardOrders, 1, reverseWords);
  }
  return readings;
}

type Decode = (text: string) => Rewritten;

function listHits({ tagged }: Features, tag: number): readonly number[] {
  return tagged.filter((_, i) => i % 2 === 0 && tagged[i + 1] === tag);
}

/** The passages with enough hits close together; the whole of a short text. */
function passagesAround(text: string, hits: readonly number[], minHits: number): readonly Span[] {
  if (text.length <= WHOLE) return [{ start: 0, end: text.length }];
  const passages: Span[] = [];
  for (let i = 0; i < hits.length; ) {
    let last = i;
    while (last + 1 < hits.length && (hits[last + 1] as number) - (hits[last] as number) <= REACH) last += 1;
    const start = Math.max(passages.at(-1)?.end ?? 0, edgeBefore(text, (hits[i] as number) - REACH));
    if (last + 1 - i >= minHits) passages.push({ start, end: edgeAfter(text, (hits[last] as number) + REACH) });
    i = last + 1;
  }
  return passages;
}

function readPassages(text: string, transform: string, passages: readonly Span[], decode: Decode): CipherReading {
  return {
    transform,
    length: passages.reduce((sum, { start, end }) => sum + end - start, 0),
    make() {
      const kept = keepSpans(text, passages);
      const made = decode(kept.text);
      return { text: made.text, map: composeMaps(made.map, kept.map) };
    },
  };
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
  const places: Span[] = [];
  const words: string[] = [];
  let length = 0;
  for (let i = count - 1; i >= 0; i -= 1) {
    const word = text.slice(starts[i], ends[i]);
    places.push({ start: length, end: length + word.length });
    words.push(word);
    length += word.length + 1;
  }
  /** The reversed word that holds the unit; the space after it counts as its own. */
  const wordAt = (unit: number): number => Math.max(0, firstFrom(places, 'start', unit + 1) - 1);
  const map: OffsetMap = {
    identity: false,
    toInput({ start, end }) {
      if (count === 0) return { start: 0, end: 0 };
      const first = wordAt(start);
      const last = wordAt(Math.max(start, end - 1));
      // Within one word the offsets run forwards, so that a part of it maps to that part.
      const from = count - 1 - last;
      if (first === last) {
        const shift = (starts[from] as number) - (places[first] as Span).start;
        return { start: start + shift, end: Math.min(end + shift, Math.max(start + shift, ends[from] as number)) };
      }
      return { start: starts[from] as number, end: ends[count - 1 - first] as number };
    },
  };
  return { text: words.join(' '), map };
}
