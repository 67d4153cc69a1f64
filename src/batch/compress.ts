import type { Duplex } from 'node:stream';
import zlib from 'node:zlib';
import { BatchError } from './batch-error.js';
import type { Compression } from './format.js';

/** The parts of `node:zlib` that Node 22.15 and newer have. */
interface Zstd {
  readonly createZstdDecompress?: () => Duplex;
  readonly zstdCompressSync?: (bytes: Buffer) => Buffer;
  readonly zstdDecompressSync?: (bytes: Uint8Array) => Buffer;
}

/** What this Node knows of zstd. */
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
 * output can go on after any of them. @throws BatchError `BATCH_UNSUPPORTED`
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
