import { isUtf8 } from 'node:buffer';
import { readJson } from '../../engine/read-json.js';
import {
  type JsonLine,
  type PlacedSlice,
  type RecordScanner,
  type SliceBounds,
  sliceRecords,
} from '../record-slices.js';

/** A row longer than this (bytes of the file) becomes a row with an error and is not kept in memory. */
export const MAX_ROW_BYTES: number = 16 * 2 ** 20;

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';

function parseLine(bytes: Buffer, line: number): JsonLine | undefined {
  if (!isUtf8(bytes)) return { line, content: { error: 'not valid UTF-8' } };
  const text = bytes.toString('utf8');
  const json = line === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  try {
    return { line, content: { value: JSON.parse(json) } };
  } catch {
    if (json.trim() === '') return undefined;
    const reading = readJson(json, { depth: Number.POSITIVE_INFINITY });
    const place = 'problem' in reading ? ` at character ${reading.position + 1} of the line` : '';
    return { line, content: { error: `not valid JSON${place}` } };
  }
}

/** The lines of a slice of JSON Lines that begins on line `line`; blank ones are left out. */
export function* splitLines(bytes: Buffer, line: number): Generator<JsonLine> {
  let number = line;
  for (let from = 0; from < bytes.length; number += 1) {
    const at = bytes.indexOf(NEWLINE, from);
    const end = at === -1 ? bytes.length : at;
    const parsed = parseLine(bytes.subarray(from, end), number);
    if (parsed) yield parsed;
    from = end + 1;
  }
}

function lineScanner(): RecordScanner {
  let ends = 0;
  return {
    end(chunk, from) {
      const at = chunk.indexOf(NEWLINE, from);
      if (at === -1) return -1;
      ends += 1;
      return at + 1;
    },
    lineEnds: () => ends,
  };
}

export function tooLong(line: number, { recordBytes }: SliceBounds): JsonLine {
  return {
    line,
    content: { error: `longer than ${recordBytes} bytes` },
  };
}

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
 * than `maxBytes` becomes a row with an error and is not kept in memory.
 *
 * Iterates the stream itself: `readline` loses lines when anything is awaited before its loop.
 */
export async function* jsonLines(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<JsonLine> {
  const bounds = { sliceBytes: 2 ** 16, recordBytes: maxBytes, fromLine: 1 };
  for await (const { slice } of jsonSlices(chunks, bounds)) {
    if (slice.kind === 'rows') yield* slice.rows;
    else yield* splitLines(slice.bytes as Buffer, slice.line);
  }
}
