import type { Replacement } from '../replacement.js';
import { bytesRun } from './bytes-run.js';

const NUMBERS = /(?<![0-9A-Za-z.])\d{2,3}(?:[ ,;|\n-]{1,3}\d{2,3}){5,}(?![0-9A-Za-z])/g;
const BITS = /(?<![0-9A-Za-z])[01]{7,8}(?:[ ,;|\n]{1,2}[01]{7,8}){3,}(?![0-9A-Za-z])/g;
const BIT_RUN = /(?<![0-9A-Za-z])(?:[01]{8}){4,}(?![0-9A-Za-z])/g;
const NUMBER = /\d+/g;
const OCTET = /[01]{7,8}/g;

/** Reads character codes in decimal (or octal, where decimal gives no text): `105 103 110`, `105,103,110`. */
export function decodeCharCodes(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(NUMBERS)) {
    const read =
      readCodes(match[0], match.index, NUMBER, 10, 'char-codes') ??
      (/[89]/.test(match[0]) ? undefined : readCodes(match[0], match.index, NUMBER, 8, 'octal'));
    if (read !== undefined) found.push(read);
  }
  return found;
}

/** Reads bytes as binary digits, seven or eight a byte, spaced or not. */
export function decodeBinary(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const pattern of [BITS, BIT_RUN]) {
    for (const match of text.matchAll(pattern)) {
      const read = readCodes(match[0], match.index, OCTET, 2, 'binary');
      if (read !== undefined) found.push(read);
    }
  }
  return found;
}

function readCodes(
  run: string,
  start: number,
  unit: RegExp,
  radix: number,
  transform: string,
): Replacement | undefined {
  const bytes: number[] = [];
  const at: number[] = [];
  for (const code of run.matchAll(unit)) {
    const value = Number.parseInt(code[0], radix);
    // No control but white space: numbers of ordinary tables are given up at once.
    if (value > 255 || (value < 32 && value !== 10 && value !== 13 && value !== 9)) return undefined;
    bytes.push(value);
    at.push(start + code.index);
  }
  return bytesRun({ start, end: start + run.length }, Uint8Array.from(bytes), at, transform);
}
