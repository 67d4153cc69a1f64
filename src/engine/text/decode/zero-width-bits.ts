import type { Replacement } from '../replacement.js';
import { readUtf8 } from './read-utf8.js';

const RUN = /[\u200b-\u200f\u2060-\u2064\ufeff]{32,}/g;

/** Reads bytes that are smuggled as rows of two zero-width characters, eight a byte. */
export function decodeZeroWidthBits(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(RUN)) {
    const start = match.index;
    const [run] = match;
    const signs = [...new Set(run)];
    if (signs.length > 3) continue;
    const read = readBits(run, signs[0] ?? '', signs[1] ?? '') ?? readBits(run, signs[1] ?? '', signs[0] ?? '');
    if (read === undefined) continue;
    const end = start + run.length;
    const starts = [start, ...read.starts.map((byte) => start + byte), end];
    found.push({ start, end, text: `\n${read.text}\n`, starts, transform: 'zero-width-bits' });
  }
  return found;
}

/** A third sign parts the bytes and says nothing. */
function readBits(
  run: string,
  zero: string,
  one: string,
): { readonly text: string; readonly starts: readonly number[] } | undefined {
  const bytes: number[] = [];
  const at: number[] = [];
  let byte = 0;
  let held = 0;
  for (let i = 0; i < run.length; i += 1) {
    const sign = run.charAt(i);
    if (sign !== zero && sign !== one) continue;
    byte = (byte << 1) | (sign === one ? 1 : 0);
    held += 1;
    if (held < 8) continue;
    bytes.push(byte & 0xff);
    at.push(i - 7);
    byte = 0;
    held = 0;
  }
  const read = readUtf8(Uint8Array.from(bytes));
  return read && { text: read.text, starts: read.starts.map((index) => at[index] ?? 0) };
}
