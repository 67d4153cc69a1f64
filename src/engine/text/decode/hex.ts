import type { Replacement } from '../replacement.js';
import type { Features } from '../scan-features.js';
import { bytesRun } from './bytes-run.js';

const WHOLE = /(?<![0-9A-Za-z])(?:0x|0X)?((?:[0-9A-Fa-f]{2}){8,})(?![0-9A-Za-z])/g;
const PAIRS =
  /(?<![0-9A-Za-z])(?:0x|\\x|%)?[0-9A-Fa-f]{2}(?:[ ,:;|%\n-]{1,3}(?:0x|\\x|%)?[0-9A-Fa-f]{2}){5,}(?![0-9A-Za-z])/g;

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
  // Long numbers and digests are given up at their first bytes.
  if (run.length > 2 * PROBE && readPart(run.slice(0, PROBE), start) === undefined) return undefined;
  return readPart(run, start);
}

const PROBE = 96;

function readPart(run: string, start: number): Replacement | undefined {
  const bytes: number[] = [];
  const at: number[] = [];
  for (let i = /^0x[0-9a-f]{2}[0-9a-f]/i.test(run) ? 2 : 0; i + 1 < run.length; i += 1) {
    const high = digitOf(run.charCodeAt(i));
    const low = digitOf(run.charCodeAt(i + 1));
    if (high < 0 || low < 0) continue;
    bytes.push(high * 16 + low);
    at.push(start + i);
    i += 1;
  }
  return bytesRun({ start, end: start + run.length }, Uint8Array.from(bytes), at, 'hex');
}

/** The value of a hex digit, -1 for any other character; the x of `0x` is none, so that its zero pairs with nothing. */
function digitOf(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
