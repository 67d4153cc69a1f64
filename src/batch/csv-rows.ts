import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { BatchError } from './batch-error.js';
import { boundedRecords } from './bounded-records.js';
import type { JsonLine } from './json-lines.js';

interface Record1 {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Reads CSV with a header line, in order. A record that can't be read, or is longer than `maxBytes`, is answered with an
 * error; `line` is where a record ends.
 *
 * @throws BatchError `BATCH_INPUT`
 */
export async function* csvRows(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<JsonLine> {
  const tooLong = `${randomUUID()}:`;
  const bounded = boundedRecords(withoutMark(chunks), maxBytes, (lineEnds) => tooLong + lineEnds);
  const parser = Readable.from(bounded, { objectMode: false }).pipe(
    // As bytes: only so can invalid UTF-8 be seen. Twice the bound: what is longer than that we were wrong about.
    parse({
      encoding: 'latin1',
      info: true,
      relax_column_count: true,
      max_record_size: 2 * maxBytes,
      relax_quotes: true,
    }),
  );
  let header: readonly string[] | undefined;
  let unseenLines = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<Record1>) {
      const [first = ''] = record;
      if (first.startsWith(tooLong)) {
        unseenLines += Math.max(0, Number(first.slice(tooLong.length)) - 1);
        yield { line: info.lines + unseenLines, content: { error: `longer than ${maxBytes} bytes` } };
      } else if (header === undefined) header = record.map((name) => Buffer.from(name, 'latin1').toString('utf8'));
      else yield { line: info.lines + unseenLines, content: rowOf(header, record) };
    }
  } catch (cause) {
    if (!(cause instanceof Error) || !('code' in cause) || !String(cause.code).startsWith('CSV_')) throw cause;
    throw new BatchError('BATCH_INPUT', `the CSV can't be read any further: ${String(cause.code)}`, { cause });
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

function rowOf(header: readonly string[], record: readonly string[]): JsonLine['content'] {
  const value: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [at, name] of header.entries()) {
    const field = record[at];
    if (field === undefined) continue;
    const bytes = Buffer.from(field, 'latin1');
    if (!isUtf8(bytes)) return { error: 'not valid UTF-8' };
    value[name] = bytes.toString('utf8');
  }
  return { value };
}
