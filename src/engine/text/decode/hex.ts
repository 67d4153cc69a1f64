import type { Replacement } from '../replacement.js';
import type { Features } from '../scan-features.js';
import { bytesRun } from './bytes-run.js';

const WHOLE = /(?<![0-9A-Za-z])(?:0x|0X)?((?:[0-9A-Fa-f]{2}){8,})(?![0-9A-Za-z])/g;
const PAIRS =
  /(?<![0-9A-Za-z])(?:0x|\\x|%)?[0-9A-Fa-f]{2}(?:[ ,:;|%\n-]{1,3}(?:0x|\\x|%)?[0-9A-Fa-f]{2}){5,}(?![0-9A-Za-z])/g;
const PAIR = /[0-9A-Fa-f]{2}/g;

/** Reads bytes in hexadecimal, in one run or pair by pair with separators (`69 67`, `69:67`, `0x69, 0x67`). */
export function decodeHex(text: string, { hexRun, hexPairs }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  // Many words that mix letters and digits are `0x69 0x67` or nothing of ours.
  if (hexRun < 16 && hexPairs < 6 && !/0x/i.test(text)) return found;
  for (const pattern of [WHOLE, PAIRS]) {
    for (const match of text.matchAll(pattern)) {
      const read = readPairs(match[0], match.index);
      if (read !== undefined) found.push(read);
    }
  }
  return found;
}

function readPairs(run: string, start: number): Replacement | undefined {
  const bytes: number[] = [];
  const at: number[] = [];
  const from = /^0x/i.test(run) && !/[ ,:;|%\n-]/.test(run) ? 2 : 0;
  const digits = run.slice(from).replace(/0[xX]|\\x/g, '..');
  for (const pair of digits.matchAll(PAIR)) {
    bytes.push(Number.parseInt(pair[0], 16));
    at.push(start + from + pair.index);
  }
  return bytesRun({ start, end: start + run.length }, Uint8Array.from(bytes), at, 'hex');
}
