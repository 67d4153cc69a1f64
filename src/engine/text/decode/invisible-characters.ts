import type { Replacement } from '../rewrite.js';
import { type BytesRead, readUtf8 } from './bytes.js';

/** A flag of a region (black flag, five letters or so, cancel tag) is benign. */
const TAG_RUN = /(?<![\u{1f3f4}\u{e0020}-\u{e007f}])[\u{e0020}-\u{e007e}\u{e0001}\u{e007f}]{4,}/gu;

/** Reads text in the invisible tag characters U+E0020..U+E007E. @see Unicode 15, section 23.9 */
export function decodeUnicodeTags(text: string): readonly Replacement[] {
  return [...text.matchAll(TAG_RUN)].map(({ 0: run, index: start }) => {
    let read = '';
    const starts: number[] = [];
    for (let i = 0; i < run.length; i += 2) {
      const unit = run.charCodeAt(i + 1) - 0xdc00;
      if (unit < 0x20 || unit === 0x7f) continue;
      read += String.fromCharCode(unit);
      starts.push(start + i);
    }
    return onOwnLine({ text: read, starts }, start, run, 'unicode-tags');
  });
}

/** A hidden text in place of its run; the line breaks separate it from the words that it hides behind. */
function onOwnLine({ text, starts }: BytesRead, start: number, run: string, transform: string): Replacement {
  const end = start + run.length;
  return { start, end, text: `\n${text}\n`, starts: [start, ...starts, end], transform };
}

const SELECTOR_RUN = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,}/gu;

/** Reads bytes that are smuggled as variation selectors: VS1..VS256 stand for 0..255. */
export function decodeVariationSelectors(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const { 0: run, index: start } of text.matchAll(SELECTOR_RUN)) {
    const bytes: number[] = [];
    const at: number[] = [];
    for (let i = 0; i < run.length; i += 1) {
      const unit = run.charCodeAt(i);
      at.push(start + i);
      if (unit >= 0xfe00) {
        bytes.push(unit - 0xfe00);
        continue;
      }
      i += 1;
      bytes.push(run.charCodeAt(i) - 0xdd00 + 16);
    }
    const read = readBytesAt(bytes, at);
    if (read !== undefined) found.push(onOwnLine(read, start, run, 'variation-selectors'));
  }
  return found;
}

/** The text of bytes; `at` says where in the input each stands. */
function readBytesAt(bytes: readonly number[], at: readonly number[]): BytesRead | undefined {
  const read = readUtf8(Uint8Array.from(bytes));
  return read && { text: read.text, starts: read.starts.map((byte) => at[byte] as number) };
}

const ZERO_WIDTH_RUN = /[\u200b-\u200f\u2060-\u2064\ufeff]{32,}/g;

/** Reads bytes that are smuggled as rows of two zero-width characters, eight a byte. */
export function decodeZeroWidthBits(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const { 0: run, index: start } of text.matchAll(ZERO_WIDTH_RUN)) {
    const signs = [...new Set(run)];
    if (signs.length > 3) continue;
    const [zero = '', one = ''] = signs;
    const read = readSigns(run, start, zero, one) ?? readSigns(run, start, one, zero);
    if (read !== undefined) found.push(onOwnLine(read, start, run, 'zero-width-bits'));
  }
  return found;
}

/** A third sign parts the bytes and says nothing. */
function readSigns(run: string, start: number, zero: string, one: string): BytesRead | undefined {
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
    at.push(start + i - 7);
    byte = 0;
    held = 0;
  }
  return readBytesAt(bytes, at);
}
