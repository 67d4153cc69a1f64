import { isUtf8 } from 'node:buffer';
import type { PlacedSlice, SliceBounds } from './input-slice.js';
import { type RecordScanner, sliceRecords } from './record-slices.js';

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

/** The lines of a slice of JSON Lines that begins on line `line`; blank ones are left out. */
export function* linesOf(bytes: Buffer, line: number): Generator<JsonLine> {
  let number = line;
  for (let from = 0; from < bytes.length; number += 1) {
    const at = bytes.indexOf(newline, from);
    const end = at === -1 ? bytes.length : at;
    const parsed = parse(bytes.subarray(from, end), number);
    if (parsed) yield parsed;
    from = end + 1;
  }
}

function lineScanner(): RecordScanner {
  let ends = 0;
  return {
    end(chunk, from) {
      const at = chunk.indexOf(newline, from);
      if (at === -1) return -1;
      ends += 1;
      return at + 1;
    },
    lineEnds: () => ends,
  };
}

/** The answer to a record that is too long. */
export const tooLong = (line: number, { recordBytes }: SliceBounds): JsonLine => ({
  line,
  content: { error: `longer than ${recordBytes} bytes` },
});

/** Slices of JSON Lines. */
export async function* jsonSlices(chunks: AsyncIterable<Buffer>, bounds: SliceBounds): AsyncGenerator<PlacedSlice> {
  for await (const found of sliceRecords(chunks, lineScanner(), bounds)) {
    const { line, nextLine } = found;
    if ('bytes' in found)
      yield { slice: { kind: 'jsonl', bytes: found.bytes, line }, size: found.bytes.length, nextLine };
    else yield { slice: { kind: 'rows', rows: [tooLong(line, bounds)] }, size: 0, nextLine };
  }
}

/**
 * Reads JSON Lines from chunks of bytes, in order, each as soon as it is there; blank lines are left out. A line longer
 * than `maxBytes` is answered with an error and not kept in memory.
 *
 * Iterates the stream itself: `readline` loses lines when anything is awaited before its loop.
 */
export async function* jsonLines(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<JsonLine> {
  const bounds = { sliceBytes: 2 ** 16, recordBytes: maxBytes, fromLine: 1 };
  for await (const { slice } of jsonSlices(chunks, bounds)) {
    if (slice.kind === 'rows') yield* slice.rows;
    else yield* linesOf(slice.bytes as Buffer, slice.line);
  }
}
