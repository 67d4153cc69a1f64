import type { Span } from '../../span.js';
import { isKind, LETTER } from '../char-kinds.js';
import type { Replacement } from '../rewrite.js';

/** Text read from bytes, and for each of its UTF-16 units the index of the byte where its character begins. */
export interface BytesRead {
  readonly text: string;
  readonly starts: readonly number[];
}

/** Characters that random bytes never begin with. */
const MIN_HEAD = 24;

/**
 * Reads bytes as UTF-8 (or UTF-16 where a byte order mark says so or every other byte is zero, as scripts of Windows encode
 * it) when most of it is text that could be read, or the text that it begins with; undefined otherwise. A broken sequence in
 * between counts against it, and is left out within a word; NUL is white space. `trusted` bytes are known to be code (a sign says so), however little text they hold.
 */
export function readUtf8(bytes: Uint8Array, trusted: boolean = false): BytesRead | undefined {
  const low = trusted ? undefined : lowByte(bytes);
  if (low !== undefined) return readUtf16(bytes, low);
  const starts: number[] = [];
  let text = '';
  let bad = 0;
  let letters = 0;
  /** Characters before the first broken sequence. */
  let clean = 0;
  for (let i = 0; i < bytes.length; ) {
    const lead = bytes[i] as number;
    const size = sequenceLength(bytes, i, lead);
    if (size === 0 || (size === 1 && lead < 0x20 && lead !== 0 && lead !== 9 && lead !== 10 && lead !== 13)) {
      bad += 1;
      if (bad === 1) clean = starts.length;
      // Random bytes are given up early: nearly every run that only looks encoded ends here.
      if (!trusted && bad > 2 + i / 16)
        return clean < MIN_HEAD ? undefined : { text: text.slice(0, clean), starts: starts.slice(0, clean) };
      i += 1;
      if (isKind(bytes[i - 2] ?? 0, LETTER) && isKind(bytes[i] ?? 0, LETTER)) continue;
      text += '\ufffd';
      starts.push(i - 1);
      continue;
    }
    const codePoint = lead === 0 ? 0x20 : size === 1 ? lead : decodePoint(bytes, i, size);
    if (lead !== 0 && isTextual(codePoint)) letters += 1;
    text += String.fromCodePoint(codePoint);
    starts.push(i);
    if (codePoint > 0xffff) starts.push(i);
    i += size;
  }
  return trusted || (letters * 10 >= starts.length * 7 && letters >= 4) ? { text, starts } : undefined;
}

/** Index of the low byte of each UTF-16 unit, 0 or 1; undefined for bytes that don't look like UTF-16. */
function lowByte(bytes: Uint8Array): 0 | 1 | undefined {
  if (bytes.length < 8) return undefined;
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (second === 0 && bytes[3] === 0 && bytes[5] === 0)) return 0;
  if ((first === 0xfe && second === 0xff) || (first === 0 && bytes[2] === 0 && bytes[4] === 0)) return 1;
  return undefined;
}

function readUtf16(bytes: Uint8Array, low: 0 | 1): BytesRead | undefined {
  const starts: number[] = [];
  let text = '';
  for (let i = 0; i + 1 < bytes.length; i += 2) {
    const unit = (bytes[i + low] as number) | ((bytes[i + 1 - low] as number) << 8);
    if (i === 0 && unit === 0xfeff) continue;
    if (unit < 9 || (unit & 0xf800) === 0xd800 || unit > 0x2fff) return undefined;
    text += String.fromCharCode(unit);
    starts.push(i);
  }
  return { text, starts };
}

/** Length of the well-formed sequence at `i`, 0 when there is none. */
function sequenceLength(bytes: Uint8Array, i: number, lead: number): number {
  if (lead < 0x80) return 1;
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || i + size > bytes.length) return 0;
  for (let k = 1; k < size; k += 1) if (((bytes[i + k] as number) & 0xc0) !== 0x80) return 0;
  const second = bytes[i + 1] as number;
  if ((lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f)) return 0;
  if ((lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f)) return 0;
  return size;
}

function decodePoint(bytes: Uint8Array, i: number, size: number): number {
  let codePoint = (bytes[i] as number) & (0x7f >> size);
  for (let k = 1; k < size; k += 1) codePoint = (codePoint << 6) | ((bytes[i + k] as number) & 0x3f);
  return codePoint;
}

/** Letters, digits, spaces and the common signs of prose. */
function isTextual(codePoint: number): boolean {
  if (codePoint >= 0x80) return codePoint >= 0xa0;
  return (
    isKind(codePoint, LETTER) || codePoint === 0x20 || (codePoint >= 0x2c && codePoint <= 0x3a) || codePoint === 10
  );
}

/** The text that bytes hold, in place of the run that gave them; undefined when it can't be read as text. */
export function decodeBytes(
  span: Span,
  bytes: Uint8Array,
  at: ArrayLike<number>,
  transform: string,
): Replacement | undefined {
  const read = readUtf8(bytes);
  if (read === undefined) return undefined;
  const starts = read.starts.map((byte) => at[byte] ?? span.start);
  return { start: span.start, end: span.end, text: read.text, starts, transform };
}
