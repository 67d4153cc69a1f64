import { BINARY, DIGIT, HEX, isKind, LETTER } from '../char-kinds.js';
import type { Replacement } from '../rewrite.js';
import type { Features } from '../scan-features.js';
import { decodeBytes } from './bytes.js';
import { type CodeRow, type CodeRowSyntax, findCodeRows, partsAround } from './code-rows.js';

const HEX_PAIRS: CodeRowSyntax = {
  codeEnd: hexPairEnd,
  beginsAfter: (unit) => !isWord(unit),
  separators: ' ,:;|%\n-',
  maxGap: 3,
  minCodes: 6,
};
const NUMBERS: CodeRowSyntax = {
  codeEnd: (text, at) => wordEnd(text, at, DIGIT, 2, 3),
  beginsAfter: (unit) => !isWord(unit) && unit !== 0x2e,
  separators: ' ,;|\n-',
  maxGap: 3,
  minCodes: 6,
};
const OCTETS: CodeRowSyntax = {
  codeEnd: (text, at) => wordEnd(text, at, BINARY, 7, 8),
  beginsAfter: (unit) => !isWord(unit),
  separators: ' ,;|\n',
  maxGap: 2,
  minCodes: 4,
};
/** Bits of four bytes; shorter words of bits are numbers. */
const MIN_BIT_WORD = 32;
/** So many bytes of a long number or digest show that it is no text. */
const PROBE = 48;
/** Maximum distance between codes with a prefix (`0x69, 0x67`). */
const PREFIXED_REACH = 24;

/** Reads bytes in hexadecimal, in one word or pair by pair with separators (`69 67`, `69:67`, `0x69, 0x67`). */
export function decodeHex(text: string, { hexWords, hexPairRow, leetSpots }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  for (let k = 0; k < hexWords.length; k += 2) {
    const start = hexWords[k] as number;
    addHexWord(found, text, start, start, hexWords[k + 1] as number);
  }
  // The x of 0x makes it a word that mixes letters and digits.
  const prefixed = leetSpots.filter((at) => text.charCodeAt(at) === 0x30 && (text.charCodeAt(at + 1) | 0x20) === 0x78);
  for (const start of prefixed) {
    let end = start + 2;
    while (isKind(text.charCodeAt(end), HEX)) end += 1;
    addHexWord(found, text, start, start + 2, end);
  }
  addHexRows(found, text, hexPairRow.found);
  if (prefixed.length > 0) addHexRows(found, text, partsAround(text, prefixed, PREFIXED_REACH));
  return found;
}

function addHexWord(found: Replacement[], text: string, start: number, digits: number, end: number): void {
  const size = end - digits;
  if (size < 16 || size % 2 !== 0 || isWord(text.charCodeAt(start - 1)) || isWord(text.charCodeAt(end))) return;
  const starts = Array.from({ length: size / 2 }, (_, i) => digits + 2 * i);
  addHex(found, text, start, end, starts);
}

function addHexRows(found: Replacement[], text: string, parts: readonly number[]): void {
  for (const { starts, ends } of findCodeRows(text, parts, HEX_PAIRS)) {
    const digits = ends.map((end) => end - 2);
    addHex(found, text, starts[0] as number, ends.at(-1) as number, digits);
  }
}

function addHex(found: Replacement[], text: string, start: number, end: number, digits: readonly number[]): void {
  const read = (count: number): Replacement | undefined => {
    const bytes = Uint8Array.from({ length: count }, (_, i) => codeAt(text, digits[i] as number, 2, 16));
    return decodeBytes({ start, end }, bytes, digits, 'hex');
  };
  if (digits.length > 2 * PROBE && read(PROBE) === undefined) return;
  const whole = read(digits.length);
  if (whole !== undefined) found.push(whole);
}

/** Reads character codes in decimal (or octal, where decimal gives no text): `105 103 110`, `105,103,110`. */
export function decodeCharCodes(text: string, { numberRow }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const row of findCodeRows(text, numberRow.found, NUMBERS)) {
    const read = readCodes(text, row, 10, 'char-codes') ?? readCodes(text, row, 8, 'octal');
    if (read !== undefined) found.push(read);
  }
  return found;
}

/** Reads bytes as binary digits: seven or eight a byte with separators, or eight without. */
export function decodeBinary(text: string, { octetRow, hexWords }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  const add = (row: CodeRow): void => {
    const read = readCodes(text, row, 2, 'binary');
    if (read !== undefined) found.push(read);
  };
  findCodeRows(text, octetRow.found, OCTETS).forEach(add);
  for (let k = 0; k < hexWords.length; k += 2) {
    const start = hexWords[k] as number;
    const size = (hexWords[k + 1] as number) - start;
    if (size < MIN_BIT_WORD || size % 8 !== 0 || wordEnd(text, start, BINARY, size, size) === 0) continue;
    const starts = Array.from({ length: size / 8 }, (_, i) => start + 8 * i);
    add({ starts, ends: starts.map((at) => at + 8) });
  }
  return found;
}

function readCodes(text: string, { starts, ends }: CodeRow, radix: number, transform: string): Replacement | undefined {
  const bytes = new Uint8Array(starts.length);
  for (const [i, start] of starts.entries()) {
    const code = codeAt(text, start, (ends[i] as number) - start, radix);
    // No control but white space: numbers of ordinary tables are given up at once.
    if (!(code <= 255) || (code < 32 && code !== 10 && code !== 13 && code !== 9)) return undefined;
    bytes[i] = code;
  }
  return decodeBytes({ start: starts[0] as number, end: ends.at(-1) as number }, bytes, starts, transform);
}

/** The value of the digits at an offset, NaN when one is no digit of this radix. */
function codeAt(text: string, at: number, size: number, radix: number): number {
  let code = 0;
  for (let i = at; i < at + size; i += 1) {
    const unit = text.charCodeAt(i);
    const digit = unit <= 0x39 ? unit - 0x30 : (unit | 0x20) - 0x57;
    if (digit >= radix) return Number.NaN;
    code = code * radix + digit;
  }
  return code;
}

/** The end of two hex digits, with `0x`, `\x` or `%` before them or not. */
function hexPairEnd(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  let digits = at;
  if (unit === 0x25) digits += 1;
  else if (unit === 0x5c && text.charCodeAt(at + 1) === 0x78) digits += 2;
  else if (unit === 0x30 && text.charCodeAt(at + 1) === 0x78) digits += 2;
  return wordEnd(text, digits, HEX, 2, 2);
}

/** The end of the word at an offset when it has only characters of this kind, and so many of them; else 0. */
function wordEnd(text: string, at: number, kind: number, min: number, max: number): number {
  let end = at;
  while (end - at <= max && isKind(text.charCodeAt(end), kind)) end += 1;
  return end - at >= min && end - at <= max && !isWord(text.charCodeAt(end)) ? end : 0;
}

function isWord(unit: number): boolean {
  return isKind(unit, LETTER | DIGIT);
}
