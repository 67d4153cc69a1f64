import type { Replacement } from '../rewrite.js';
import type { Features } from '../scan-features.js';
import { STRONG, TRIE, WORD_ENDS, wordKind } from './known-words.js';

const LETTERS = 26;
/** A row of known words that is shorter may be chance. */
const MIN_ROW = 10;

/**
 * Puts spaces back into words that were run together (`ignoreallpreviousinstructions`), where known words follow one
 * another and at least one of them is a strong one. `longWords` are the offsets where the long words of the text begin.
 */
export function restoreWordGaps(text: string, { longWords }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const start of longWords) {
    let end = start;
    while (isLetter(text.charCodeAt(end))) end += 1;
    splitWord(text, start, end, found);
  }
  return found;
}

/** Long words are split piece by piece: what is kept a word stays bounded. */
const PIECE = 4096;

function splitWord(text: string, from: number, to: number, found: Replacement[]): void {
  for (let start = from; start < to; start += PIECE)
    splitPiece(text, start, Math.min(to, start + PIECE), from, to, found);
}

function splitPiece(
  text: string,
  from: number,
  to: number,
  wordStart: number,
  wordEnd: number,
  found: Replacement[],
): void {
  const length = to - from;
  // cover[i]: how many letters from i on known words cover without a gap; first[i]: length of the first of them.
  const cover = new Uint16Array(length + 1);
  const first = new Uint8Array(length + 1);
  const strong = new Uint8Array(length + 1);
  for (let i = length - 1; i >= 0; i -= 1) {
    let node = 0;
    for (let k = i; k < length; k += 1) {
      node = TRIE[node * LETTERS + (text.charCodeAt(from + k) | 0x20) - 0x61] as number;
      if (node === 0) break;
      const kind = WORD_ENDS[node] as number;
      if (kind === 0) continue;
      const size = k + 1 - i;
      const covered = size + (cover[k + 1] as number);
      if (covered < (cover[i] as number)) continue;
      cover[i] = covered;
      first[i] = size;
      strong[i] = (kind === STRONG ? 1 : 0) | (strong[k + 1] as number);
    }
  }
  for (let i = 0; i < length; ) {
    const covered = cover[i] as number;
    if (covered < MIN_ROW || covered === first[i] || strong[i] === 0) {
      i += 1;
      continue;
    }
    if (from + i > wordStart) gap(from + i, found);
    const end = i + covered;
    for (let k = i + (first[i] as number); k < end; k += first[k] as number) gap(from + k, found);
    if (from + end < wordEnd) gap(from + end, found);
    i = end;
  }
}

function gap(at: number, found: Replacement[]): void {
  if (found.at(-1)?.start !== at) found.push({ start: at, end: at, text: ' ', transform: 'word-gaps' });
}

function isLetter(unit: number): boolean {
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Bounded: at most 202 words of 20 letters. */
const ROW = /[A-Za-z]{2,20}([.,/\\+:;=&^•·])[A-Za-z]{2,20}(?:\1[A-Za-z]{2,20}){1,200}(?![A-Za-z])/y;
const WORD = /[A-Za-z]+/g;

/**
 * Reads rows of words that a sign joins instead of a space (`ignore.all.previous.instructions`), where half of them
 * are known and one is a strong one: names of hosts and paths are left alone. `joinedRows` are the offsets where such
 * rows may begin.
 */
export function splitJoinedWords(text: string, { joinedRows }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const from of joinedRows) {
    ROW.lastIndex = from;
    const row = ROW.exec(text)?.[0];
    if (row === undefined) continue;
    const words = [...row.matchAll(WORD)];
    const kinds = words.map((word) => wordKind(word[0].toLowerCase()));
    if (!kinds.includes(STRONG) || kinds.filter((kind) => kind !== 0).length * 2 < kinds.length) continue;
    for (const word of words.slice(1)) {
      const start = from + word.index - 1;
      found.push({ start, end: start + 1, text: ' ', transform: 'joined-words' });
    }
  }
  return found;
}

const BREAK = /(?<=[a-zà-öø-ÿ])[-\u00ad\u2010]\r?\n[ \t]{0,16}(?=[a-zà-öø-ÿ])/g;

/** Joins words that a line break parts (`instruc-\ntions`). */
export function joinHyphenation(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(BREAK)) {
    found.push({ start: match.index, end: match.index + match[0].length, text: '', transform: 'hyphenation' });
  }
  return found;
}
