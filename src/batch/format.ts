import { basename } from 'node:path';
import { BatchError } from './batch-error.js';

/** How rows are written down. */
export type RowFormat = 'jsonl' | 'csv' | 'parquet';

/** What lies around the rows. */
export type Compression = 'none' | 'gzip' | 'zstd';

const FORMATS: Readonly<Record<string, RowFormat>> = {
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'jsonl',
  csv: 'csv',
  parquet: 'parquet',
};
const COMPRESSIONS: Readonly<Record<string, Compression>> = { gz: 'gzip', zst: 'zstd' };

/**
 * Format and compression by a file's name; `fallback` where its name says nothing.
 *
 * @throws BatchError `BATCH_UNSUPPORTED` for Parquet inside gzip or zstd, or through a pipe
 */
export function formatOf(
  file: string,
  fallback: RowFormat,
): { readonly format: RowFormat; readonly compression: Compression } {
  const parts = basename(file).toLowerCase().split('.');
  const compression = COMPRESSIONS[parts.at(-1) ?? ''] ?? 'none';
  if (compression !== 'none') parts.pop();
  const format = (parts.length > 1 ? FORMATS[parts.at(-1) ?? ''] : undefined) ?? fallback;
  if (format === 'parquet' && (compression !== 'none' || file === '-'))
    throw new BatchError(
      'BATCH_UNSUPPORTED',
      'Parquet is read and written as a plain file: it has its own compression',
    );
  return { format, compression };
}
