import type { Replacement } from '../replacement.js';
import { readUtf8 } from './read-utf8.js';

const CODE = /(?:=[0-9A-F]{2})+|=[ \t]{0,4}\r?\n/g;
/** Fewer are the values of some address or assignment. */
const MIN_CODES = 3;
const BROKEN_WORD = /[A-Za-z]=\r?\n[A-Za-z]/;

/** Reads quoted-printable mail text. @see RFC 2045, section 6.7 */
export function decodeQuotedPrintable(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  let codes = 0;
  for (const match of text.matchAll(CODE)) {
    const [run] = match;
    const start = match.index;
    const end = start + run.length;
    if (run.endsWith('\n')) {
      found.push({ start, end, text: '', transform: 'quoted-printable' });
      continue;
    }
    codes += 1;
    const bytes = new Uint8Array(run.length / 3);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = Number.parseInt(run.slice(3 * i + 1, 3 * i + 3), 16);
    const read = readUtf8(bytes, true);
    if (read === undefined || read.text.includes('\ufffd') || read.text.includes('\0')) continue;
    found.push({
      start,
      end,
      text: read.text,
      starts: read.starts.map((byte) => start + 3 * byte),
      transform: 'quoted-printable',
    });
  }
  return (codes > 0 && found.length >= MIN_CODES) || BROKEN_WORD.test(text) ? found : [];
}
