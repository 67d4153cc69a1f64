import { isUtf8 } from 'node:buffer';
import { parse } from 'csv-parse/sync';
import {
  type InputSlice,
  type JsonLine,
  type PlacedSlice,
  type RecordScanner,
  type SliceBounds,
  sliceRecords,
} from '../record-slices.js';
import { BatchError } from './file-format.js';
import { tooLong } from './json-lines.js';

interface ParsedRecord {
  readonly record: readonly string[];
  readonly info: { readonly bytes: number };
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Slices of delimited text with a header line. */
export async function* csvSlices(
  chunks: AsyncIterable<Buffer>,
  bounds: SliceBounds,
  separator: string = ',',
): AsyncGenerator<PlacedSlice> {
  const scanner = csvScanner(separator);
  let header: readonly string[] | undefined;
  for await (const found of sliceRecords(withoutMark(chunks), scanner, { ...bounds, firstAlone: true })) {
    const { line, nextLine } = found;
    const delimiter = scanner.delimiter();
    if (!('bytes' in found)) {
      yield { slice: { kind: 'rows', rows: [tooLong(nextLine - 1, bounds)] }, size: 0, nextLine };
    } else if (header === undefined)
      header = parseRecords(found.bytes, { delimiter, separator, line: 1 }, 'utf8')[0]?.record ?? [];
    else
      yield {
        slice: { kind: 'csv', bytes: found.bytes, line, header, separator, delimiter },
        size: found.bytes.length,
        nextLine,
      };
  }
}

/**
 * The rows of a slice; `line` is where a record ends.
 *
 * @throws BatchError `BATCH_INPUT`
 */
export function* parseCsvRows(slice: Extract<InputSlice, { kind: 'csv' }>): Generator<JsonLine> {
  const bytes = Buffer.from(slice.bytes.buffer, slice.bytes.byteOffset, slice.bytes.byteLength);
  // As bytes where there is anything else: only so is it seen which field it is in.
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const lineEnd = slice.delimiter === '\r' ? 0x0d : 0x0a;
  let line = slice.line;
  let counted = 0;
  for (const { record, info } of parseRecords(bytes, slice, encoding)) {
    // All but its own line end: a record is on the line it ends on.
    const end = info.bytes - slice.delimiter.length;
    for (let at = bytes.indexOf(lineEnd, counted); at !== -1 && at < end; at = bytes.indexOf(lineEnd, at + 1))
      line += 1;
    counted = Math.max(counted, end);
    yield { line, content: toRow(slice.header, record, encoding) };
  }
}

/** @throws BatchError `BATCH_INPUT` */
function parseRecords(
  bytes: Buffer,
  { delimiter, separator, line }: { readonly delimiter: string; readonly separator: string; readonly line: number },
  encoding: 'utf8' | 'latin1',
): readonly ParsedRecord[] {
  try {
    return parse(bytes, {
      encoding,
      info: true,
      delimiter: separator,
      record_delimiter: delimiter,
      relax_column_count: true,
      relax_quotes: true,
    }) as unknown as readonly ParsedRecord[];
  } catch (cause) {
    if (!(cause instanceof Error) || !('code' in cause) || !String(cause.code).startsWith('CSV_')) throw cause;
    const at = 'lines' in cause && typeof cause.lines === 'number' ? ` at line ${line + cause.lines - 1}` : '';
    throw new BatchError('BATCH_INPUT', `the CSV can't be read any further: ${String(cause.code)}${at}`, { cause });
  }
}

async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (start === undefined) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < BOM.length) continue;
    yield start.subarray(0, BOM.length).equals(BOM) ? start.subarray(BOM.length) : start;
    start = undefined;
  }
  if (start !== undefined && start.length > 0) yield start;
}

function toRow(header: readonly string[], record: readonly string[], encoding: 'utf8' | 'latin1'): JsonLine['content'] {
  const value: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [at, name] of header.entries()) {
    const field = record[at];
    if (field === undefined) continue;
    if (encoding === 'utf8') {
      value[name] = field;
      continue;
    }
    const bytes = Buffer.from(field, 'latin1');
    if (!isUtf8(bytes)) return { error: 'not valid UTF-8' };
    value[name] = bytes.toString('utf8');
  }
  return { value };
}

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

/** Finds the ends of CSV records as csv-parse does with `relax_quotes`. */
export interface CsvScanner extends RecordScanner {
  /** The line end of records: the first one outside quotes decides. `\n` until one was seen. */
  delimiter(): string;
}

/** Makes a scanner. A quote opens a field only where the field begins. */
function csvScanner(separator: string = ','): CsvScanner {
  const separatorByte = separator.charCodeAt(0);
  let delimiter: '\n' | '\r\n' | '\r' | undefined;
  let state: 'start' | 'plain' | 'quoted' | 'quote-in-quoted' = 'start';
  let afterCr = false;
  let lineEnds = 0;

  /** True where the record ends with this byte; `state` isn't `quoted`. */
  function endsRecord(byte: number | undefined): boolean {
    if (byte === LF) {
      delimiter ??= afterCr ? '\r\n' : '\n';
      return delimiter === '\n' || (delimiter === '\r\n' && afterCr);
    }
    return byte === CR && delimiter === '\r';
  }

  return {
    end(chunk, from) {
      for (let at = from; at < chunk.length; at += 1) {
        const byte = chunk[at];
        if (afterCr && delimiter === undefined && byte !== LF) {
          // A line end that is CR alone: the record ended before this byte.
          delimiter = '\r';
          afterCr = false;
          lineEnds += 1;
          state = 'start';
          return at;
        }
        if (byte === (delimiter === '\r' ? CR : LF)) lineEnds += 1;
        if (state === 'quoted') {
          if (byte === QUOTE) state = 'quote-in-quoted';
          continue;
        }
        const ends = endsRecord(byte);
        afterCr = byte === CR;
        if (ends) {
          state = 'start';
          return at + 1;
        }
        if (byte === QUOTE && state !== 'plain') state = 'quoted';
        else state = byte === separatorByte ? 'start' : 'plain';
      }
      return -1;
    },
    lineEnds: () => lineEnds,
    delimiter: () => delimiter ?? '\n',
  };
}
