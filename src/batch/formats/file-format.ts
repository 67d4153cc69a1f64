import { basename } from 'node:path';
import type { Duplex } from 'node:stream';
import zlib from 'node:zlib';
import { PortcullisError } from '../../engine/errors.js';

export type RowFormat = 'jsonl' | 'csv' | 'tsv' | 'parquet';

/** The delimiter of fields, for formats of delimited text. */
export const SEPARATORS: Readonly<Partial<Record<RowFormat, ',' | '\t'>>> = { csv: ',', tsv: '\t' };

export type Compression = 'none' | 'gzip' | 'zstd';

const FORMATS: Readonly<Record<string, RowFormat>> = {
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'jsonl',
  csv: 'csv',
  tsv: 'tsv',
  parquet: 'parquet',
};
const COMPRESSIONS: Readonly<Record<string, Compression>> = { gz: 'gzip', zst: 'zstd' };

/**
 * Format and compression by a file's name; `fallback` where its name says nothing.
 *
 * @throws BatchError `BATCH_UNSUPPORTED` for Parquet inside gzip or zstd, or through a pipe
 */
export function chooseFormat(
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

/** The parts of `node:zlib` that Node 22.15 and newer have. */
interface Zstd {
  readonly createZstdDecompress?: () => Duplex;
  readonly zstdCompressSync?: (bytes: Buffer) => Buffer;
  readonly zstdDecompressSync?: (bytes: Uint8Array) => Buffer;
}

/** The zstd functions of this Node version. */
export const zstd: Zstd = zlib as Zstd;

/** A stream that decompresses; undefined where there is nothing to do. @throws BatchError `BATCH_UNSUPPORTED` */
export function decompressor(compression: Compression): Duplex | undefined {
  if (compression === 'none') return undefined;
  if (compression === 'gzip') return zlib.createGunzip();
  if (zstd.createZstdDecompress === undefined) throw noZstd();
  return zstd.createZstdDecompress();
}

/**
 * Compresses a piece as a member or frame of its own: pieces put one after another are a valid file, so that an
 * output can be continued after any of them. @throws BatchError `BATCH_UNSUPPORTED`
 */
export function compressPiece(bytes: Buffer, compression: Compression): Buffer {
  if (compression === 'none') return bytes;
  if (compression === 'gzip') return zlib.gzipSync(bytes);
  if (zstd.zstdCompressSync === undefined) throw noZstd();
  return zstd.zstdCompressSync(bytes);
}

function noZstd(): BatchError {
  return new BatchError(
    'BATCH_UNSUPPORTED',
    'zstd needs Node 22.15 or newer. Use gzip, or the zstd command: zstd -dc FILE.zst | portcullis batch - --out - | zstd > OUT.zst',
  );
}

/** A batch can't be started or continued. Never contains screened text. */
export class BatchError extends PortcullisError {
  override readonly name = 'BatchError';
  /**
   * `BATCH_INPUT`: the input can't be found or read. `BATCH_OUTPUT`: the output can't be written, or would overwrite the input.
   * `BATCH_RESUME`: what an earlier run left can't be continued. `BATCH_STRICT`: a row has an error, and none was allowed.
   * `BATCH_UNSUPPORTED`: a compression that can't be read or written here.
   */
  readonly code: 'BATCH_INPUT' | 'BATCH_OUTPUT' | 'BATCH_RESUME' | 'BATCH_STRICT' | 'BATCH_UNSUPPORTED';

  constructor(code: BatchError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
