import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import zlib from 'node:zlib';
import {
  asyncBufferFromFile,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet/src/node.js';
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { errorCode } from '../../engine/errors.js';
import type { JsonLine, PlacedSlice, SliceBounds } from '../record-slices.js';
import { flat, outputColumns } from '../row.js';
import { BatchError, zstd } from './file-format.js';

import { jsonLines } from './json-lines.js';

/** Rows decoded at once: few enough to hold, enough to be quick. */
const ROWS_AT_ONCE = 2_000;

const INFLATE: Compressors = {
  GZIP: (input) => zlib.gunzipSync(input),
  BROTLI: (input) => zlib.brotliDecompressSync(input),
  ...(zstd.zstdDecompressSync === undefined ? {} : { ZSTD: zstd.zstdDecompressSync }),
};

/**
 * Slices of a Parquet file, in order; its rows are counted from 1. `columns` are the top-level columns wanted, undefined for all.
 *
 * @throws BatchError `BATCH_INPUT`, `BATCH_UNSUPPORTED`
 */
export async function* parquetSlices(
  path: string,
  columns: readonly string[] | undefined,
  { sliceBytes, fromLine }: SliceBounds,
): AsyncGenerator<PlacedSlice> {
  let rows: JsonLine[] = [];
  let size = 0;
  const take = (nextLine: number): PlacedSlice => {
    const slice = { slice: { kind: 'rows', rows }, size, nextLine } as const;
    rows = [];
    size = 0;
    return slice;
  };
  let line = fromLine;
  for await (const value of parquetRows(path, columns, fromLine - 1)) {
    rows.push({ line, content: { value } });
    size += roughSize(value);
    line += 1;
    if (size >= sliceBytes) yield take(line);
  }
  if (rows.length > 0) yield take(line);
}

/** Characters of the texts in a row, and something for the row itself. */
function roughSize(row: Readonly<Record<string, unknown>>): number {
  return Object.values(row).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 64), 64);
}

async function* parquetRows(
  path: string,
  columns: readonly string[] | undefined,
  firstRow: number,
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  try {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file);
    checkCodecs(metadata);
    const there = new Set(metadata.row_groups[0]?.columns.map((column) => column.meta_data?.path_in_schema[0]));
    const wanted = columns?.filter((name) => there.has(name));
    let groupStart = 0;
    for (const group of metadata.row_groups) {
      const groupEnd = groupStart + Number(group.num_rows);
      for (let from = Math.max(groupStart, firstRow); from < groupEnd; from += ROWS_AT_ONCE) {
        const rows = await parquetReadObjects({
          file,
          metadata,
          compressors: INFLATE,
          rowStart: from,
          rowEnd: Math.min(from + ROWS_AT_ONCE, groupEnd),
          ...(wanted === undefined ? {} : { columns: wanted }),
        });
        for (const row of rows) yield plain(row);
      }
      groupStart = groupEnd;
    }
  } catch (cause) {
    if (cause instanceof BatchError) throw cause;
    const why = errorCode(cause) || 'it is no Parquet file, or damaged';
    throw new BatchError('BATCH_INPUT', `the Parquet file can't be read: ${why}`, { cause });
  }
}

/** @throws BatchError `BATCH_UNSUPPORTED` naming the codec and what to do */
function checkCodecs({ row_groups }: FileMetaData): void {
  const known = new Set(['UNCOMPRESSED', 'SNAPPY', ...Object.keys(INFLATE)]);
  const codecs = row_groups.flatMap(({ columns }) => columns.flatMap(({ meta_data }) => meta_data?.codec ?? []));
  const unknown = codecs.find((codec) => !known.has(codec));
  if (unknown === undefined) return;
  const how = unknown === 'ZSTD' ? 'needs Node 22.15 or newer' : "can't be read";
  throw new BatchError(
    'BATCH_UNSUPPORTED',
    `Parquet that is compressed with ${unknown} ${how}; write it with snappy or gzip.`,
  );
}

/** Parquet's values as JSON has them; a column that is null in a row is left out. */
function plain(row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, json(value)]],
    ),
  );
}

function json(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map(json);
  if (typeof value === 'object' && value !== null) return plain(value as Readonly<Record<string, unknown>>);
  return value;
}

const ROW_GROUP = 50_000;
const NUMBERS: ReadonlySet<string> = new Set(['confidence', 'score', 'threshold', 'ml_threshold']);
const INTEGERS: ReadonlySet<string> = new Set(['latency_ms', 'line']);

/** Writes the rows of a JSON Lines file as Parquet, a row group at a time; ids, kept and nested values as strings. */
export async function writeParquet(
  rowsFile: string,
  out: string,
  keep: readonly string[],
  findings: boolean,
): Promise<void> {
  const columns = outputColumns(keep, findings);
  await rm(out, { force: true });
  const schema: readonly SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.map((name): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...columnType(name) })),
  ];
  const writer = fileWriter(out);
  const parquet = new ParquetWriter({ writer, schema: [...schema] });
  let rows: Readonly<Record<string, unknown>>[] = [];
  const flush = async (): Promise<void> => {
    if (rows.length === 0) return;
    const columnData = columns.map((name) => {
      const isNumber = NUMBERS.has(name) || INTEGERS.has(name);
      return { name, data: rows.map((row) => (isNumber ? row[name] : flat(row[name]))) };
    });
    await parquet.write({ columnData, rowGroupSize: ROW_GROUP });
    rows = [];
  };
  for await (const { content } of jsonLines(createReadStream(rowsFile), Number.MAX_SAFE_INTEGER)) {
    if ('error' in content) throw new Error('a row that was written can no longer be read');
    rows.push(content.value as Readonly<Record<string, unknown>>);
    if (rows.length >= ROW_GROUP) await flush();
  }
  await flush();
  await parquet.finish();
}

function columnType(name: string): Pick<SchemaElement, 'type' | 'converted_type'> {
  if (NUMBERS.has(name)) return { type: 'DOUBLE' };
  if (INTEGERS.has(name)) return { type: 'INT32' };
  return { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
}
