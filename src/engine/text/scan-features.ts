import {
  BASE64_SIGN,
  BINARY,
  DASH,
  DIGIT,
  HEX,
  JOINER,
  KINDS,
  LEET_SIGN,
  LETTER,
  UNPLAIN,
  WHITE,
} from './char-kinds.js';
import { FIRST_RANK, TAGS, tagAt } from './decode/cipher-words.js';

/** The features that one pass over a text finds; every transform checks them first, so that ordinary text costs that pass alone. */
export type Features = Readonly<Scan>;

const LONG_WORD = 12;
const MIN_CODE_RUN = 16;
/** Digits of eight bytes; shorter words of digits are numbers. */
const MIN_HEX_WORD = 16;
/** Words of a row that show that decoders should look; its first and last may be next to letters of other scripts. */
const MIN_HEX_PAIRS = 4;
const MIN_NUMBERS = 4;
const MIN_OCTETS = 2;
/** Fewer single letters in a row are initials or a formula. */
const MIN_SINGLES = 5;
/** Gaps of one kind between the words of a row, each of two to so many characters. */
const MIN_GAPS = 3;
const MAX_GAP = 8;
const WORD_KINDS = LETTER | DIGIT;
const RARE = JOINER | LEET_SIGN | DASH;

/** Reads the text once; linear. */
export function scanFeatures(text: string): Features {
  const scan = new Scan();
  const { length } = text;
  let signs = 0;
  let runStart = 0;
  let white = 0;
  for (let i = 0; i < length; ) {
    const from = i;
    let any = 0;
    let all = -1;
    let unit = text.charCodeAt(i);
    let kind = unit < 0x80 ? (KINDS[unit] as number) : 0;
    while ((kind & WORD_KINDS) !== 0) {
      any |= kind;
      all &= kind;
      i += 1;
      if (i === length) break;
      unit = text.charCodeAt(i);
      kind = unit < 0x80 ? (KINDS[unit] as number) : 0;
    }
    if (unit >= 0x80 && i < length) {
      const end = readForeignWord(scan, text, i);
      if (end > i) {
        if (i - from >= MIN_HEX_WORD && (all & HEX) !== 0) scan.hexWords.push(from, i);
        endForeignWord(scan, text, from, end);
        if (i - runStart >= MIN_CODE_RUN) scan.codeRuns.push(runStart, i);
        runStart = end;
        i = end;
        white = 0;
        continue;
      }
    }
    if (i > from) {
      white = 0;
      endWord(scan, text, from, i, any, all);
      if (i === length) break;
    }
    if ((kind & BASE64_SIGN) === 0) {
      if (i - runStart >= MIN_CODE_RUN) scan.codeRuns.push(runStart, i);
      runStart = i + 1;
    }
    if (unit === 0x20) {
      // The space is the commonest sign of all, and matters after other white space alone.
      if (white !== 0) scan.spaces.push(i);
      white = WHITE;
    } else {
      if ((kind & white) !== 0 || (kind & UNPLAIN) !== 0) scan.spaces.push(i);
      if ((kind & RARE) !== 0) readSign(scan, text, unit, kind, i, from);
      white = kind & WHITE;
      signs |= kind;
    }
    i += 1;
  }
  if (length - runStart >= MIN_CODE_RUN) scan.codeRuns.push(runStart, length);
  scan.signs = signs;
  scan.plain = scan.ascii && scan.spaces.length === 0;
  return scan;
}

/** Reads an ASCII word. `any` and `all` are the kinds of its characters, joined by "or" and by "and". */
function endWord(scan: Scan, text: string, from: number, end: number, any: number, all: number): void {
  if (from - scan.wordEnd > 1) growGapRow(scan, text, from);
  scan.wordFrom = from;
  scan.wordEnd = end;
  if ((any & DIGIT) === 0 && (all & HEX) === 0 && end - from > 1) endLetters(scan, text, from, end);
  else endCode(scan, text, from, end, any, all);
}

/** Reads a word of two or more ASCII letters that are not all hex digits: nearly every word. */
function endLetters(scan: Scan, text: string, from: number, end: number): void {
  if (scan.rows) resetRows(scan);
  const size = end - from;
  if (size < 3) {
    scan.rank = 0;
    return;
  }
  const tag = tagAt(text, from, end);
  if (tag !== 0 || scan.rank !== 0) readTag(scan, tag, from);
  if (size >= LONG_WORD) scan.longWords.push(from);
}

function readTag(scan: Scan, tag: number, from: number): void {
  if (tag >= FIRST_RANK) {
    // The rank before, and how many words in a row had a falling one.
    const falls = scan.rank !== 0 && (scan.rank & 0xff) > tag ? (scan.rank >> 8) + 1 : 0;
    if (falls > 1) scan.backwardOrders.push(from);
    scan.rank = (falls << 8) | tag;
    return;
  }
  scan.rank = 0;
  if (tag === 0) return;
  scan.tags ??= new Uint32Array(TAGS);
  scan.tags[tag] = (scan.tags[tag] as number) + 1;
  scan.tagged.push(from, tag);
}

/** Reads any other ASCII word. */
function endCode(scan: Scan, text: string, from: number, end: number, any: number, all: number): void {
  const size = end - from;
  if (size === 1) {
    if (scan.single === 0) {
      resetRows(scan);
      scan.singleFrom = from;
    }
    addSingle(scan);
    return;
  }
  scan.single = 0;
  if ((all & HEX) === 0) {
    resetRows(scan);
    scan.rank = 0;
    if ((any & WORD_KINDS) === WORD_KINDS) scan.leetSpots.push(from);
    return;
  }
  scan.rows = true;
  if (size >= MIN_HEX_WORD) scan.hexWords.push(from, end);
  growRow(scan.hexPairRow, size === 2, MIN_HEX_PAIRS, from, end);
  growRow(scan.numberRow, size <= 3 && (all & DIGIT) !== 0, MIN_NUMBERS, from, end);
  growRow(scan.octetRow, size >= 7 && (all & BINARY) !== 0, MIN_OCTETS, from, end);
  if ((any & DIGIT) === 0) {
    // Letters a to f alone may be a word all the same.
    readTag(scan, size < 3 ? 0 : tagAt(text, from, end), from);
    if (size >= LONG_WORD) scan.longWords.push(from);
  } else {
    scan.rank = 0;
    if ((any & LETTER) !== 0) scan.leetSpots.push(from);
  }
}

/** Words with the same gap of two or more characters between them make a row, as far as its length and its first character tell. */
function growGapRow(scan: Scan, text: string, from: number): void {
  const { wordFrom, wordEnd } = scan;
  const gap = from - wordEnd;
  const unit = text.charCodeAt(wordEnd);
  if (scan.gapEnd !== wordFrom || gap !== scan.gap || unit !== scan.gapUnit) {
    scan.gap = gap;
    scan.gapUnit = unit;
    scan.gapRow = 0;
    scan.gapFrom = wordFrom;
  }
  scan.gapEnd = from;
  scan.gapRow += 1;
  if (scan.gapRow === MIN_GAPS && gap <= MAX_GAP && scan.joinedRows.at(-1) !== scan.gapFrom)
    scan.joinedRows.push(scan.gapFrom);
}

function growRow(row: Row, belongs: boolean, min: number, from: number, end: number): void {
  if (!belongs) {
    row.size = 0;
    return;
  }
  if (row.size === 0) row.from = from;
  row.size += 1;
  if (row.size === min) row.found.push(row.from, end);
  else if (row.size > min) row.found[row.found.length - 1] = end;
}

function addSingle(scan: Scan): void {
  scan.rows = true;
  scan.rank = 0;
  scan.single += 1;
  if (scan.single === MIN_SINGLES) scan.singleRows.push(scan.singleFrom);
}

function resetRows(scan: Scan): void {
  scan.rows = false;
  scan.single = 0;
  scan.hexPairRow.size = 0;
  scan.numberRow.size = 0;
  scan.octetRow.size = 0;
}

/** Reads on through a word that has letters of other scripts, from the first of them; gives where it ends. */
function readForeignWord(scan: Scan, text: string, from: number): number {
  let to = from;
  let digits = 0;
  for (; to < text.length; to += 1) {
    const unit = text.charCodeAt(to);
    const kind = unit < 0x80 ? (KINDS[unit] as number) : 0;
    if (unit < 0x80 ? (kind & WORD_KINDS) === 0 : !readForeign(scan, text, unit, to)) break;
    if ((kind & HEX) !== 0) {
      digits += 1;
      continue;
    }
    if (digits >= MIN_HEX_WORD) scan.hexWords.push(to - digits, to);
    digits = 0;
  }
  if (digits >= MIN_HEX_WORD) scan.hexWords.push(to - digits, to);
  return to;
}

function endForeignWord(scan: Scan, text: string, from: number, end: number): void {
  const size = end - from;
  const one = size === 1 || (size === 2 && (text.charCodeAt(from) & 0xfc00) === 0xd800);
  if (!one) {
    resetRows(scan);
    scan.rank = 0;
    return;
  }
  if (scan.single === 0) {
    resetRows(scan);
    scan.singleFrom = from;
  }
  addSingle(scan);
}

/** Reads a unit beyond ASCII; true when it is part of a word. */
function readForeign(scan: Scan, text: string, unit: number, at: number): boolean {
  scan.ascii = false;
  if ((unit & 0xf800) === 0xd800) {
    scan.surrogates = true;
    if (unit === 0xd835 || unit === 0xd83c) scan.disguised += 1;
    if (unit >= 0xd83c && unit <= 0xd83e) scan.emoji += 1;
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
  else if (unit >= 0x2600 && unit <= 0x27bf) scan.emoji += 1;
  else if (unit >= 0xfe00 && unit <= 0xfe0f) scan.selectors += 1;
  else if (unit === 0xfeff) scan.zeroWidth += 1;
  else if (unit >= 0xff01 || (unit >= 0x2460 && unit <= 0x24ff)) scan.disguised += 1;
  return unit > 0x2bff && unit !== 0x3000;
}

function readSign(scan: Scan, text: string, unit: number, kind: number, at: number, from: number): void {
  if (unit === 0x2d) {
    if (from === at) scan.dots += 1;
    else if (text.charCodeAt(at + 1) === 0x0a || text.charCodeAt(at + 1) === 0x0d) scan.brokenWords = true;
    return;
  }
  if (unit === 0x2e && from === at) scan.dots += 1;
  const next = text.charCodeAt(at + 1);
  const letterAfter = next < 0x80 && ((KINDS[next] as number) & LETTER) !== 0;
  if ((kind & LEET_SIGN) !== 0) {
    if (letterAfter || (from < at && unit !== 0x21)) scan.leetSpots.push(at);
    return;
  }
  if (!letterAfter || at - from < 2) return;
  if (scan.joiner === unit && scan.joinerAt === from - 1) {
    if (scan.joinedRows.at(-1) !== scan.joinedFrom) scan.joinedRows.push(scan.joinedFrom);
  } else scan.joinedFrom = from;
  scan.joiner = unit;
  scan.joinerAt = at;
}

/** Rows of words of one kind in succession, regardless of what separates them. */
class Row {
  /** The current row: how many words, and where it began. */
  size = 0;
  from = 0;
  /** Rows long enough: start, end, in turn. */
  readonly found: number[] = [];
}

/** The counts of one pass over a text, here before the first character; see `scanFeatures`. */
class Scan {
  /** ASCII alone. */
  ascii = true;
  /** ASCII whose fold is its lower case. */
  plain = true;
  surrogates = false;
  /** Offsets of white space and controls that the fold changes, in ASCII text. */
  readonly spaces: number[] = [];
  /** Kinds of the signs that occur (see char-kinds). */
  signs = 0;
  /** Runs of 16 or more base64 characters (letters and digits among them): start, end, in turn. */
  readonly codeRuns: number[] = [];
  /** Offsets of rows of five or more words of one letter or digit; the length and the offset of the current row. */
  readonly singleRows: number[] = [];
  single = 0;
  singleFrom = 0;
  /** One of the current rows is not empty. */
  rows = false;
  /** Words of 16 or more hex digits: start, end, in turn. */
  readonly hexWords: number[] = [];
  /** Rows of words of two hex digits, of numbers of two or three digits, of seven or more bits. */
  readonly hexPairRow: Row = new Row();
  readonly numberRow: Row = new Row();
  readonly octetRow: Row = new Row();
  /** Offsets of words that mix letters and digits, and of signs that can replace a letter beside one. */
  readonly leetSpots: number[] = [];
  /** Offsets of rows of words that one sign, or the same gap of several signs, joins. */
  readonly joinedRows: number[] = [];
  /** The last joining sign, its place, and where the word before it began. */
  joiner = 0;
  joinerAt = -1;
  joinedFrom = -1;
  /** The last ASCII word. */
  wordFrom = 0;
  wordEnd = 0;
  /** The last gap of two or more characters: its length, its first character and its end; the gaps like it in a row, and where the row's first word began. */
  gap = 0;
  gapUnit = 0;
  gapEnd = -1;
  gapRow = 0;
  gapFrom = 0;
  /** A line ends in a hyphen. */
  brokenWords = false;
  /** Offsets of words of 12 or more ASCII letters. */
  readonly longWords: number[] = [];
  /** Dots and dashes that follow no word. */
  dots = 0;
  /** Words met of each cipher tag; undefined when none was. */
  tags: Uint32Array | undefined = undefined;
  /** The offset of each of them and its tag, in turn. */
  readonly tagged: number[] = [];
  /** Offsets where the words of an order to a model run backwards; the rank of the last word and its falls. */
  readonly backwardOrders: number[] = [];
  rank = 0;
  selectors = 0;
  tagCharacters = 0;
  zeroWidth = 0;
  /** Units that the fold changes into others beyond case: invisibles, full-width and mathematical letters, marks. */
  disguised = 0;
  braille = 0;
  /** Emoji, and signs of the blocks that hold many of them. */
  emoji = 0;
  phonetic = 0;
}
