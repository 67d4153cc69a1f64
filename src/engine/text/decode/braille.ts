import type { Replacement } from '../replacement.js';

const RUN = /[\u2801-\u283f](?:[\u2800-\u283f \n]*[\u2801-\u283f]){3,}/g;
/** Dots of a..z in order, as offsets from U+2800. */
const LETTERS =
  '\x01\x03\x09\x19\x11\x0b\x1b\x13\x0a\x1a\x05\x07\x0d\x1d\x15\x0f\x1f\x17\x0e\x1e\x25\x27\x3a\x2d\x3d\x35';
const SIGNS: ReadonlyMap<number, string> = new Map([
  [0x02, ','],
  [0x32, '.'],
  [0x26, '?'],
  [0x16, '!'],
  [0x04, "'"],
  [0x24, '-'],
  [0x12, ':'],
]);

/** Reads uncontracted Braille. */
export function decodeBraille(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(RUN)) {
    const start = match.index;
    let read = '';
    const starts: number[] = [];
    for (let i = 0; i < match[0].length; i += 1) {
      const unit = match[0].charCodeAt(i);
      const letter = LETTERS.indexOf(String.fromCharCode(unit - 0x2800));
      if (unit < 0x2800 || unit === 0x2800) read += ' ';
      else if (letter >= 0) read += String.fromCharCode(0x61 + letter);
      else if (SIGNS.has(unit - 0x2800)) read += SIGNS.get(unit - 0x2800);
      else continue;
      starts.push(start + i);
    }
    found.push({ start, end: start + match[0].length, text: read, starts, transform: 'braille' });
  }
  return found;
}
