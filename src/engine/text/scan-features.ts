import { BASE64_SIGN, BINARY, DIGIT, HEX, JOINER, KINDS, LEET_SIGN, LETTER, UNPLAIN, WHITE } from './char-kinds.js';
import { FIRST_RANK, TAGS, tagOf } from './cipher-words.js';
import { newScan, type Scan } from './scan.js';

/** What one pass over a text finds; every transform asks it first, so that ordinary text costs that pass alone. */
export type Features = Readonly<Scan>;

/** A word of letters of other scripts has this among the kinds of its characters. */
const FOREIGN = 1 << 30;
const LONG_WORD = 12;
const MIN_CODE_RUN = 16;
const WORD_KINDS = LETTER | DIGIT;

/** Reads the text once; linear. */
export function scanFeatures(text: string): Features {
  const scan = newScan();
  const { length } = text;
  let signs = 0;
  let runStart = 0;
  let dots = 0;
  let size = 0;
  let any = 0;
  let all = -1;
  let hash = 0;
  let before = 0;
  for (let i = 0; i <= length; i += 1) {
    const unit = i < length ? text.charCodeAt(i) : 0x20;
    let kind = 0;
    if (unit < 0x80) {
      kind = KINDS[unit] as number;
      if ((kind & WORD_KINDS) !== 0) {
        size += 1;
        any |= kind;
        all &= kind;
        hash = (Math.imul(hash, 31) + (unit | 0x20)) | 0;
        continue;
      }
    } else if (readForeign(scan, text, unit, i)) {
      // The second half of a pair adds nothing: its letter is one.
      if ((unit & 0xfc00) !== 0xdc00) size += 1;
      any |= FOREIGN;
      all = 0;
      continue;
    }
    const wordFrom = i - size;
    if (size !== 0) {
      if (size === 1) {
        scan.single += 1;
        if (scan.single > scan.singles) scan.singles = scan.single;
        scan.hexPair = 0;
        scan.number = 0;
        scan.binary = 0;
        scan.rank = 0;
      } else endWord(scan, size, any, all, hash, i);
      size = 0;
      any = 0;
      all = -1;
      hash = 0;
      before = 0;
    }
    if (unit === 0x20) {
      // The space is the commonest sign of all, and matters after other white space alone.
      if ((before & WHITE) !== 0 && i < length) scan.spaces.push(i);
      before = WHITE;
      if (i - runStart >= MIN_CODE_RUN) scan.codeRuns.push(runStart, i);
      runStart = i + 1;
      continue;
    }
    if ((kind & BASE64_SIGN) === 0) {
      if (i - runStart >= MIN_CODE_RUN) scan.codeRuns.push(runStart, i);
      runStart = i + 1;
    }
    if (unit === 0x2e || unit === 0x2d) dots += 1;
    if ((kind & before & WHITE) !== 0 || (kind & UNPLAIN) !== 0) scan.spaces.push(i);
    if ((kind & (JOINER | LEET_SIGN)) !== 0) readJoiner(scan, text, unit, kind, i, wordFrom);
    if (unit === 0x0a && before === 0 && i > 0 && text.charCodeAt(i - 1) === 0x2d) scan.brokenWords = true;
    before = kind & WHITE;
    signs |= kind;
  }
  scan.signs = signs;
  scan.dots = dots;
  scan.plain = scan.ascii && scan.spaces.length === 0;
  return scan;
}

/** Reads the kinds of a word of two or more characters. */
function endWord(scan: Scan, size: number, any: number, all: number, hash: number, end: number): void {
  scan.single = 0;
  if ((all & HEX) !== 0) endHexWord(scan, size, all);
  else {
    scan.hexPair = 0;
    scan.number = 0;
    scan.binary = 0;
  }
  if ((any & WORD_KINDS) === WORD_KINDS) scan.leetSpots.push(end - 1);
  if ((any & (DIGIT | FOREIGN)) !== 0 || size < 2) {
    scan.rank = 0;
    return;
  }
  const tag = tagOf(hash);
  if (tag >= FIRST_RANK) {
    // The rank before, and how many words in a row had a falling one.
    const falls = scan.rank !== 0 && (scan.rank & 0xff) > tag ? (scan.rank >> 8) + 1 : 0;
    if (falls > 1) scan.backwardOrder = true;
    scan.rank = (falls << 8) | tag;
  } else {
    scan.rank = 0;
    if (tag !== 0) {
      scan.tags ??= new Uint32Array(TAGS);
      scan.tags[tag] = (scan.tags[tag] as number) + 1;
    }
  }
  if (size >= LONG_WORD) scan.longWords.push(end - size);
}

function endHexWord(scan: Scan, size: number, all: number): void {
  if (size > scan.hexRun) scan.hexRun = size;
  scan.hexPair = size === 2 ? scan.hexPair + 1 : 0;
  if (scan.hexPair > scan.hexPairs) scan.hexPairs = scan.hexPair;
  scan.number = size <= 3 && (all & DIGIT) !== 0 ? scan.number + 1 : 0;
  if (scan.number > scan.numbers) scan.numbers = scan.number;
  if ((all & BINARY) === 0 || size < 7) {
    scan.binary = 0;
    return;
  }
  scan.binary += 1;
  if (scan.binary > scan.binaries) scan.binaries = scan.binary;
  if (size > scan.binaryRun) scan.binaryRun = size;
}

/** Reads a unit beyond ASCII; true when it is part of a word. */
function readForeign(scan: Scan, text: string, unit: number, at: number): boolean {
  scan.ascii = false;
  if ((unit & 0xf800) === 0xd800) {
    scan.surrogates = true;
    if (unit === 0xd835 || unit === 0xd83c) scan.disguised += 1;
    if (unit !== 0xdb40) return true;
    if ((text.charCodeAt(at + 1) & 0xff80) === 0xdc00) scan.tagCharacters += 1;
    else scan.selectors += 1;
    return true;
  }
  if (unit < 0x2000) {
    if ((unit >= 0x0250 && unit <= 0x02af) || unit === 0x01dd) scan.phonetic += 1;
    if (unit === 0xad || (unit >= 0x300 && unit <= 0x36f)) scan.disguised += 1;
    return unit >= 0xc0;
  }
  if (unit < 0x2070) {
    if (unit >= 0x200b && (unit <= 0x200f || unit >= 0x2060)) {
      scan.zeroWidth += 1;
      scan.disguised += 1;
    }
    return false;
  }
  if ((unit & 0xff00) === 0x2800) scan.braille += 1;
  else if (unit >= 0xfe00 && unit <= 0xfe0f) scan.selectors += 1;
  else if (unit === 0xfeff) scan.zeroWidth += 1;
  else if (unit >= 0xff01 || (unit >= 0x2460 && unit <= 0x24ff)) scan.disguised += 1;
  return unit > 0x2bff && unit !== 0x3000;
}

/** Reads a sign that can join words or stand for a letter. */
function readJoiner(scan: Scan, text: string, unit: number, kind: number, at: number, wordFrom: number): void {
  const next = text.charCodeAt(at + 1);
  const letterAfter = next < 0x80 && ((KINDS[next] as number) & LETTER) !== 0;
  if ((kind & LEET_SIGN) !== 0) {
    const last = text.charCodeAt(at - 1);
    if (letterAfter || (wordFrom < at && last < 0x80 && unit !== 0x21)) scan.leetSpots.push(at);
    return;
  }
  if (!letterAfter || at - wordFrom < 2) return;
  if (scan.joiner === unit && scan.joinerAt === wordFrom - 1) {
    if (scan.joinedRows.at(-1) !== scan.joinedFrom) scan.joinedRows.push(scan.joinedFrom);
  } else scan.joinedFrom = wordFrom;
  scan.joiner = unit;
  scan.joinerAt = at;
}
