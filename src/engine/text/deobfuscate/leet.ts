import { isKind, LETTER } from '../char-kinds.js';
import type { Replacement } from '../rewrite.js';
import type { Features } from '../scan-features.js';
import { STRONG, TRIE, WORD_ENDS } from './known-words.js';

/** Letters that digits and signs stand for; '1', '!' and '|' stand for i or for l. */
const AS_I = 'a@4 b8 e3€ g69 i1!|¡ l£ o0 s5$ t7+ z2';
const AS_L = 'a@4 b8 e3€ g69 l1!|£ i¡ o0 s5$ t7+ z2';

/** For each Latin-1 unit and the euro sign the letter (1..26) that it may stand for, itself if it is one; 0 none. */
const READ_AS_I: Uint8Array = buildTable(AS_I);
const READ_AS_L: Uint8Array = buildTable(AS_L);
const MAX_WORD = 24;
/** Shorter words are met by chance. */
const MIN_KNOWN = 4;
const MIN_WORDS = 3;

/**
 * Reads leet (`1gn0r3 4ll pr3v10us`) in words that mix letters with the digits and signs that stand for them. Only
 * where one such word then is a strong one, or several are known: version numbers and identifiers are left alone.
 * `leetSpots` are offsets within such words, ascending.
 */
export function replaceLeet(text: string, { leetSpots }: Features): readonly Replacement[] {
  const words: [start: number, end: number, table: Uint8Array][] = [];
  let strong = 0;
  let known = 0;
  let read = 0;
  for (const spot of leetSpots) {
    if (spot < read) continue;
    let start = spot;
    while (start > read && spot - start < MAX_WORD && letterAt(text, start - 1, READ_AS_I) !== 0) start -= 1;
    read = spot + 1;
    while (read - spot <= MAX_WORD && letterAt(text, read, READ_AS_I) !== 0) read += 1;
    let end = read;
    while (end > start && isTrailing(text.charCodeAt(end - 1))) end -= 1;
    if (end - start < 2 || end - start > MAX_WORD || !isMixed(text, start, end)) continue;
    const asI = classify(text, start, end, READ_AS_I);
    const kind = asI === 0 ? classify(text, start, end, READ_AS_L) : asI;
    if (kind !== 0 && end - start >= MIN_KNOWN) known += 1;
    if (kind === STRONG) strong += 1;
    words.push([start, end, asI === 0 && kind !== 0 ? READ_AS_L : READ_AS_I]);
  }
  if (strong === 0 && known < MIN_WORDS) return [];
  return words.map(([start, end, table]) => ({
    start,
    end,
    text: readWord(text, start, end, table),
    transform: 'leet',
  }));
}

/** The kind of the word that these characters may stand for, 0 when it is not known. */
function classify(text: string, start: number, end: number, table: Uint8Array): number {
  let node = 0;
  for (let i = start; i < end; i += 1) {
    node = TRIE[node * 26 + letterAt(text, i, table) - 1] as number;
    if (node === 0) return 0;
  }
  return WORD_ENDS[node] as number;
}

function readWord(text: string, start: number, end: number, table: Uint8Array): string {
  let word = '';
  for (let i = start; i < end; i += 1) word += String.fromCharCode(0x60 + letterAt(text, i, table));
  return word;
}

function isMixed(text: string, start: number, end: number): boolean {
  let letters = 0;
  for (let i = start; i < end; i += 1) if (isKind(text.charCodeAt(i), LETTER)) letters += 1;
  return letters > 0 && letters < end - start;
}

/** A sign at the end of a word is punctuation. */
function isTrailing(unit: number): boolean {
  return unit === 0x21 || unit === 0x7c || unit === 0x2b;
}

function letterAt(text: string, at: number, table: Uint8Array): number {
  const unit = text.charCodeAt(at);
  if (unit < 0x100) return table[unit] as number;
  return unit === 0x20ac ? 5 : 0;
}

function buildTable(groups: string): Uint8Array {
  const table = new Uint8Array(0x100);
  for (let i = 1; i <= 26; i += 1) {
    table[0x40 + i] = i;
    table[0x60 + i] = i;
  }
  for (const group of groups.split(' ')) {
    for (const sign of group.slice(1)) if (sign !== '€') table[sign.charCodeAt(0)] = group.charCodeAt(0) - 0x60;
  }
  return table;
}
