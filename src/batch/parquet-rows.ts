import zlib from 'node:zlib';
import {
  asyncBufferFromFile,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet/src/node.js';
import { BatchError } from './batch-error.js';
import { zstd } from './compress.js';
import type { JsonLine } from './json-lines.js';

/** Rows decoded at once: few enough to hold, enough to be quick. */
const ROWS_AT_ONCE = 2_000;

const inflate: Compressors = {
  GZIP: (input) => zlib.gunzipSync(input),
  BROTLI: (input) => zlib.brotliDecompressSync(input),
  ...(zstd.zstdDecompressSync === undefined ? {} : { ZSTD: zstd.zstdDecompressSync }),
};

/**
 * Reads the rows of a Parquet file in order, counted from 1. `columns` are the top-level columns wanted.
 *
 * @throws BatchError `BATCH_INPUT`, `BATCH_UNSUPPORTED`
 */
export async function* parquetRows(path: string, columns: readonly string[] | undefined): AsyncGenerator<JsonLine> {
  try {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file);
    checkCodecs(metadata);
    const there = new Set(metadata.row_groups[0]?.columns.map((column) => column.meta_data?.path_in_schema[0]));
    const wanted = columns?.filter((name) => there.has(name));
    let groupStart = 0;
    for (const group of metadata.row_groups) {
      const groupEnd = groupStart + Number(group.num_rows);
      for (let from = groupStart; from < groupEnd; from += ROWS_AT_ONCE) {
        const rows = await parquetReadObjects({
          file,
          metadata,
          compressors: inflate,
          rowStart: from,
          rowEnd: Math.min(from + ROWS_AT_ONCE, groupEnd),
          ...(wanted === undefined ? {} : { columns: [...wanted] }),
        });
        for (const [at, row] of rows.entries()) yield { line: from + at + 1, content: { value: plain(row) } };
      }
      groupStart = groupEnd;
    }
  } catch (cause) {
    if (cause instanceof BatchError) throw cause;
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'it is no Parquet file, or damaged';
    throw new BatchError('BATCH_INPUT', `the Parquet file can't be read: ${why}`, { cause });
  }
}

/** @throws BatchError `BATCH_UNSUPPORTED` naming the codec and what to do */
function checkCodecs({ row_groups }: FileMetaData): void {
  const known = new Set(['UNCOMPRESSED', 'SNAPPY', ...Object.keys(inflate)]);
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
