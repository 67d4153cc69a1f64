import { isUtf8 } from 'node:buffer';

/** One line of a JSON Lines file. */
export interface JsonLine {
  /** Counted from 1; blank lines count too. */
  readonly line: number;
  /** The parsed value, or in plain words why there is none. */
  readonly content: { readonly value: unknown } | { readonly error: string };
}

/** A row longer than this (bytes of the file) is answered with an error and not kept in memory. */
export const MAX_ROW_BYTES: number = 16 * 2 ** 20;

const newline = 0x0a;
const byteOrderMark = '\ufeff';

/** Where the parser stopped, without a word of the text itself. */
const parseFault = (error: unknown): string => {
  const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
  return position === undefined ? 'not valid JSON' : `not valid JSON at character ${position} of the line`;
};

const parse = (bytes: Buffer, line: number): JsonLine | undefined => {
  if (!isUtf8(bytes)) return { line, content: { error: 'not valid UTF-8' } };
  const text = bytes.toString('utf8');
  const json = line === 1 && text.startsWith(byteOrderMark) ? text.slice(1) : text;
  try {
    return { line, content: { value: JSON.parse(json) } };
  } catch (error) {
    if (json.trim() === '') return undefined;
    return { line, content: { error: parseFault(error) } };
  }
};

/**
 * Reads JSON Lines from chunks of bytes, in order; blank lines are left out. A line longer than `maxBytes`
 * is answered with an error and not kept in memory.
 *
 * Iterates the stream itself: `readline` loses lines when anything is awaited before its loop.
 */
export async function* jsonLines(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<JsonLine> {
  let parts: Buffer[] = [];
  let length = 0;
  let line = 1;
  const add = (part: Buffer): void => {
    length += part.length;
    if (length <= maxBytes) parts.push(part);
    else parts = [];
  };
  const finish = (): JsonLine | undefined => {
    const tooLong = length > maxBytes;
    const done = tooLong
      ? { line, content: { error: `longer than ${maxBytes} bytes` } }
      : parse(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), line);
    parts = [];
    length = 0;
    line += 1;
    return done;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, at));
      from = at + 1;
      const done = finish();
      if (done) yield done;
    }
    add(chunk.subarray(from));
  }
  const done = length > 0 ? finish() : undefined;
  if (done) yield done;
}
