import { isKind, LETTER } from '../char-kinds.js';
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
    while (isKind(text.charCodeAt(end), LETTER)) end += 1;
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

/**
 * One sign, or two to eight characters that are no letters or digits (a comma parts the words of a list): the same between all words of a row.
 * Bounded: at most 202 words of 20 letters.
 */
const ROW =
  /[A-Za-z']{1,20}([.,/\\+:;=&^•·]|(?![,;] )[^A-Za-z0-9'\u00c0-\uffff]{2,8})[A-Za-z']{1,20}(?:\1[A-Za-z']{1,20}){1,200}(?![A-Za-z'])/y;
const WORD = /[A-Za-z']+/g;
/** A sentence without a strong word has so many words, two fifths of them known. */
const MIN_SENTENCE = 6;

/**
 * Reads rows of words that signs join instead of a space (`ignore.all.previous.instructions`, `**ignore** **all** **previous**`), where they are a
 * sentence: names of hosts, paths and lists of names are left alone. `joinedRows` are the offsets where such
 * rows may begin.
 */
export function splitJoinedWords(text: string, { joinedRows }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const from of joinedRows) {
    let start = from;
    for (let match = rowAt(text, start); match !== null; match = rowAt(text, start)) {
      const words = [...match[0].matchAll(WORD)];
      const kinds = words.map((word) => wordKind(word[0].toLowerCase()));
      const gap = (match[1] ?? '').length;
      for (const word of isSentence(kinds) ? words.slice(1) : []) {
        const end = start + word.index;
        found.push({ start: end - gap, end, text: ' ', transform: 'joined-words' });
      }
      start += words.at(-1)?.index ?? text.length;
    }
  }
  return found;
}

/** Whether words of these kinds are a sentence, such as an order to a model, rather than a list of names. */
function isSentence(kinds: readonly number[]): boolean {
  const known = kinds.filter((kind) => kind !== 0).length;
  return kinds.includes(STRONG)
    ? known * 2 >= kinds.length
    : kinds.length >= MIN_SENTENCE && known * 5 >= kinds.length * 2;
}

function rowAt(text: string, start: number): RegExpExecArray | null {
  ROW.lastIndex = start;
  return ROW.exec(text);
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
