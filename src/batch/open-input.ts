import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { glob } from 'tinyglobby';
import { BatchError } from './batch-error.js';
import { decompressor } from './compress.js';
import { csvRows } from './csv-rows.js';
import { topField } from './field-path.js';
import { formatOf, type RowFormat } from './format.js';
import { type JsonLine, jsonLines, MAX_ROW_BYTES } from './json-lines.js';
import { parquetRows } from './parquet-rows.js';

/** A file to read; `-` is standard input, whose size isn't known. */
export interface InputFile {
  readonly path: string;
  readonly bytes: number | undefined;
  readonly mtimeMs: number | undefined;
}

/**
 * The files that names and patterns stand for, each pattern's in the order of their names.
 *
 * @throws BatchError `BATCH_INPUT` naming what isn't there
 */
export async function findInputs(names: readonly string[]): Promise<readonly InputFile[]> {
  const files: InputFile[] = [];
  for (const name of names) {
    if (name === '-') {
      files.push({ path: '-', bytes: undefined, mtimeMs: undefined });
      continue;
    }
    const there = await stat(name).catch(() => undefined);
    const paths = there === undefined && /[*?[{]/.test(name) ? (await glob(name)).sort() : [name];
    if (paths.length === 0) throw new BatchError('BATCH_INPUT', `Can't read ${name}: no file matches.`);
    for (const path of paths) files.push(await fileAt(path));
  }
  return files;
}

async function fileAt(path: string): Promise<InputFile> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'ENOENT' ? 'there is no such file' : (cause.code ?? 'unknown reason');
    throw new BatchError('BATCH_INPUT', `Can't read ${path}: ${why}.`, { cause });
  });
  if (found.isDirectory()) throw new BatchError('BATCH_INPUT', `Can't read ${path}: it is a folder.`);
  return { path: await realpath(path), bytes: found.size, mtimeMs: found.mtimeMs };
}

/**
 * The rows of some files, one file after another. `onBytes` hears how far the reading has come.
 *
 * @throws BatchError `BATCH_INPUT`, `BATCH_UNSUPPORTED`
 */
export async function* readRows(
  files: readonly InputFile[],
  format: RowFormat,
  fields: readonly string[],
  onBytes: (bytes: number) => void,
): AsyncGenerator<JsonLine> {
  for (const file of files) {
    const kind = formatOf(file.path, format);
    if (kind.format === 'parquet') {
      yield* parquetRows(file.path, fields.map(topField));
      onBytes(file.bytes ?? 0);
      continue;
    }
    const raw: Readable =
      file.path === '-' ? process.stdin : createReadStream(file.path, { highWaterMark: 256 * 1024 });
    raw.on('data', (chunk: Buffer) => onBytes(chunk.length));
    raw.pause();
    const unpack = decompressor(kind.compression);
    const chunks = unpack === undefined ? raw : pipeInto(raw, unpack);
    try {
      yield* kind.format === 'csv' ? csvRows(chunks, MAX_ROW_BYTES) : jsonLines(chunks, MAX_ROW_BYTES);
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
      if (!/^(Z_|ERR_ZSTD|ZSTD)/.test(code)) throw cause;
      throw new BatchError('BATCH_INPUT', `${file.path} is damaged: ${code}`, { cause });
    }
  }
}

function pipeInto(raw: Readable, unpack: NodeJS.ReadWriteStream & AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  raw.on('error', (error) => unpack.emit('error', error));
  raw.pipe(unpack);
  return unpack;
}
