import type { Replacement } from '../rewrite.js';
import { readUtf8 } from './bytes.js';

/** A flag of a region (black flag, five letters or so, cancel tag) is benign. */
const TAG_RUN = /(?<![\u{1f3f4}\u{e0020}-\u{e007f}])[\u{e0020}-\u{e007e}\u{e0001}\u{e007f}]{4,}/gu;

/** Reads text in the invisible tag characters U+E0020..U+E007E. @see Unicode 15, section 23.9 */
export function decodeUnicodeTags(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(TAG_RUN)) {
    const start = match.index;
    // The line breaks separate it from the words that it hides behind.
    let read = '\n';
    const starts = [start];
    for (let i = 0; i < match[0].length; i += 2) {
      const unit = match[0].charCodeAt(i + 1) - 0xdc00;
      if (unit < 0x20 || unit === 0x7f) continue;
      read += String.fromCharCode(unit);
      starts.push(start + i);
    }
    starts.push(start + match[0].length);
    found.push({ start, end: start + match[0].length, text: `${read}\n`, starts, transform: 'unicode-tags' });
  }
  return found;
}

const SELECTOR_RUN = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,}/gu;

/** Reads bytes that are smuggled as variation selectors: VS1..VS256 stand for 0..255. */
export function decodeVariationSelectors(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(SELECTOR_RUN)) {
    const start = match.index;
    const bytes: number[] = [];
    const at: number[] = [];
    for (let i = 0; i < match[0].length; i += 1) {
      const unit = match[0].charCodeAt(i);
      at.push(start + i);
      if (unit >= 0xfe00) {
        bytes.push(unit - 0xfe00);
        continue;
      }
      i += 1;
      bytes.push(match[0].charCodeAt(i) - 0xdd00 + 16);
    }
    const read = readUtf8(Uint8Array.from(bytes));
    if (read === undefined) continue;
    const end = start + match[0].length;
    const starts = [start, ...read.starts.map((byte) => at[byte] ?? start), end];
    found.push({ start, end, text: `\n${read.text}\n`, starts, transform: 'variation-selectors' });
  }
  return found;
}

const ZERO_WIDTH_RUN = /[\u200b-\u200f\u2060-\u2064\ufeff]{32,}/g;

/** Reads bytes that are smuggled as rows of two zero-width characters, eight a byte. */
export function decodeZeroWidthBits(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(ZERO_WIDTH_RUN)) {
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
