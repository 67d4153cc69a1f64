import type { Replacement } from '../replacement.js';
import { readUtf8 } from './read-utf8.js';

/** The text that bytes hold, in place of the run that gave them; undefined when it can't be read as text. */
export function bytesRun(
  span: { readonly start: number; readonly end: number },
  bytes: Uint8Array,
  at: ArrayLike<number>,
  transform: string,
): Replacement | undefined {
  const read = readUtf8(bytes);
  if (read === undefined) return undefined;
  const starts = read.starts.map((byte) => at[byte] ?? span.start);
  return { start: span.start, end: span.end, text: read.text, starts, transform };
}
