import type { Replacement } from '../replacement.js';
import { readUtf8 } from './read-utf8.js';

const RUN = /(?:%[0-9A-Fa-f]{2})+|%u[0-9A-Fa-f]{4}/g;

/** Reads percent-encoded bytes, and the `%u0069` of old scripts. @see RFC 3986, section 2.1 */
export function decodePercent(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(RUN)) {
    const [run] = match;
    const start = match.index;
    const end = start + run.length;
    if (run.charAt(1) === 'u') {
      const unit = Number.parseInt(run.slice(2), 16);
      if ((unit & 0xf800) !== 0xd800) found.push({ start, end, text: String.fromCharCode(unit), transform: 'percent' });
      continue;
    }
    if (run.length === 3) {
      // A space or a letter alone: nearly all of them.
      const byte = Number.parseInt(run.slice(1), 16);
      if (byte < 0x80) {
        found.push({ start, end, text: String.fromCharCode(byte), transform: 'percent' });
        continue;
      }
    }
    const bytes = new Uint8Array(run.length / 3);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = Number.parseInt(run.slice(3 * i + 1, 3 * i + 3), 16);
    const read = readUtf8(bytes, true);
    if (read === undefined) continue;
    found.push({
      start,
      end,
      text: read.text,
      starts: read.starts.map((byte) => start + 3 * byte),
      transform: 'percent',
    });
  }
  return found;
}
