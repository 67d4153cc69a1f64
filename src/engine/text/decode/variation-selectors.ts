import type { Replacement } from '../replacement.js';
import { readUtf8 } from './read-utf8.js';

const RUN = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,}/gu;

/** Reads bytes that are smuggled as variation selectors: VS1..VS256 stand for 0..255. */
export function decodeVariationSelectors(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(RUN)) {
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
