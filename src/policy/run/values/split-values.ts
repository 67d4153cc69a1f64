/** Finds values that are split over neighbouring arguments of a call. */
import { firstFrom, type Span } from '../../../engine/span.js';
import type { Value, ValueKind } from '../run-state.js';
import { lettersOf, MIN_LETTERS } from './value-forms.js';
import { valuesIn, wordsIn } from './values.js';

export interface Leaf {
  readonly path: string;
  readonly text: string;
}

/** Called with the values that may begin in one argument and end in another. `path` names both, `text` is what they contain of it. */
export interface SplitValues {
  value(path: string, value: Value, text: string): void;
  /** With letters and digits alone, since the signs between them may be missing. The kind is a guess; `host` is the end of the text. */
  letters(path: string, kind: ValueKind, letters: string, text: string, host: string): void;
}

/** Characters of an argument that are joined to its neighbours. */
const JOINED_LENGTH = 64;
/** Arguments that a value may be split over, and its characters. */
const MAX_PIECES = 32;
const MAX_LENGTH = 64;
/** Fewer come together by chance. */
const MIN_DIGITS = 9;
/** Labels of a word beside a joint with which a value may begin or end. */
const MAX_LABELS = 4;
/** A word that stands for a sign. */
const SIGN = /^\W*(?:(at|%40)|dot|%2e)\W*$/;
/** An address that is more than that: gaps or quotes beside an at sign, gaps between all signs, words for signs, dots of other scripts. */
const GAPS = /@.*[\s,;]|[\s,;")].*@|^\S(?:\s\S){3,}$|\sdot\s|。/s;
const NO_PART = /\([^()]*\)(?=@)|\s(?:at|dot)(?=\s)/g;
const LABEL = /[\p{L}\p{N}]+/gu;

/** Finds the values that may be split over arguments, in their order and in the reverse. Linear in the arguments. */
export function splitValues(leaves: readonly Leaf[], found: SplitValues): void {
  for (const leaf of leaves) readWhole(leaf, found);
  const pieces = leaves.map(({ path, text }) => ({ path, text: text.trim() })).filter(({ text }) => text !== '');
  if (pieces.length < 2) return;
  for (const row of [pieces, pieces.toReversed()]) {
    readThrough(row, found);
    joinWords(row, found);
  }
}

/** Reads an argument that is nothing but an address, written otherwise. */
function readWhole({ path, text }: Leaf, found: SplitValues): void {
  if (text.length > 2 * MAX_LENGTH || !GAPS.test(text)) return;
  const letters = lettersOf(text.replace(NO_PART, ''));
  if (letters.length >= MIN_LETTERS)
    found.letters(path, kindOf(text), letters, text, text.slice(text.lastIndexOf('@') + 1).trim());
}

/** Reads the arguments as one text: finds words in a row, and numbers. */
function readThrough(row: readonly Leaf[], found: SplitValues): void {
  const places: Span[] = [];
  let text = '';
  for (const { text: piece } of row) {
    const isLong = piece.length > 2 * JOINED_LENGTH;
    const start = text.length;
    text += isLong ? `${piece.slice(0, JOINED_LENGTH)}\n${piece.slice(-JOINED_LENGTH)} ` : `${piece} `;
    places.push({ start, end: text.length });
  }
  const pieceAt = (offset: number): number => firstFrom(places, 'end', offset + 1);
  const add = (value: Value): void => {
    const first = pieceAt(value.start);
    if (value.end <= (places[first]?.end ?? 0)) return;
    const last = pieceAt(value.end - 1);
    found.value(`${row[first]?.path} and ${row[last]?.path}`, value, text.slice(value.start, value.end));
  };
  for (const value of valuesIn(text)) add(value);
  for (const words of wordsIn(text)) add(words);
}

/** The words that are joined: the last of an argument, those that are arguments of their own, the first of another. */
interface Joined {
  readonly path: string;
  readonly first: string;
  readonly between: string;
  readonly last: string;
}

function joinWords(row: readonly Leaf[], found: SplitValues): void {
  for (const [from, { path, text }] of row.entries()) {
    const first = text.slice(-JOINED_LENGTH).split(/\s/).at(-1) ?? '';
    let between = '';
    for (let to = from + 1, count = 1; to < row.length && count < MAX_PIECES; to += 1) {
      const next = row[to] as Leaf;
      const [last = ''] = next.text.slice(0, JOINED_LENGTH).split(/\s/, 1);
      if (lettersOf(last) !== '') {
        count += 1;
        const joined = { path: `${path} and ${next.path}`, first, between, last };
        readAddress(joined, found);
        readLetters(joined, found);
      }
      const [sign, at] = SIGN.exec(last) ?? [];
      between += sign === undefined ? last : at === undefined ? '.' : '@';
      if (last !== next.text || between.length > MAX_LENGTH) break;
    }
  }
}

function readAddress({ path, first, between, last }: Joined, found: SplitValues): void {
  const isPair = between === '' && !first.includes('@') && !last.includes('@');
  const text = `${first}${between}${isPair ? '@' : ''}${last}`;
  const at = text.indexOf('@');
  if (at < 0 || at !== text.lastIndexOf('@') || !text.includes('.', at)) return;
  for (const value of valuesIn(text))
    if (value.start < first.length && value.end > text.length - last.length)
      found.value(path, value, text.slice(value.start, value.end));
}

/** Reads the letters of the words, from any of the last labels of the first to any of the first labels of the last. */
function readLetters({ path, first, between, last }: Joined, found: SplitValues): void {
  const middle = lettersOf(between);
  const text = first + between + last;
  const kind = kindOf(text);
  // A company and its country make no host.
  if (kind === 'host' && between === '' && !path.endsWith(']') && lettersOf(text) === text) return;
  const ends = endsOf(last, 1);
  for (const before of endsOf(first, -1))
    for (const after of ends) {
      const letters = before + middle + after;
      const isLong = letters.length >= (kind === 'account' ? MIN_DIGITS : MIN_LETTERS);
      if (isLong && letters.length <= MAX_LENGTH) found.letters(path, kind, letters, text, last);
    }
}

function kindOf(text: string): ValueKind {
  if (text.includes('@')) return 'email';
  if (/[\\/]/.test(text)) return 'path';
  return /\p{L}/u.test(text) ? 'host' : 'account';
}

/** The letters of the first labels of a word, one, two and so on, or of the last; and of all. */
function endsOf(word: string, direction: 1 | -1): readonly string[] {
  const labels = word.match(LABEL) ?? [];
  if (labels.length < 2) return labels;
  const counts = labels.slice(0, MAX_LABELS).map((_, at) => at + 1);
  if (labels.length > MAX_LABELS) counts.push(labels.length);
  return counts.map((count) => (direction === 1 ? labels.slice(0, count) : labels.slice(-count)).join(''));
}
