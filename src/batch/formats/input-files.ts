import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { glob } from 'tinyglobby';
import { errorCode } from '../../engine/errors.js';
import type { InputSlice, JsonLine, PlacedSlice, SliceBounds } from '../record-slices.js';
import { topField } from '../row.js';
import { csvSlices, parseCsvRows } from './csv.js';
import { BatchError, chooseFormat, decompressor, type RowFormat, SEPARATORS } from './file-format.js';
import { jsonSlices, MAX_ROW_BYTES, splitLines } from './json-lines.js';
import { parquetSlices } from './parquet.js';

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

/** A place between two rows: the file, counted from 0, and the next line in it, counted from 1. */
export interface InputPlace {
  readonly file: number;
  readonly line: number;
}

export interface ReadOptions {
  /** Format of a file whose name doesn't say it. */
  readonly format: RowFormat;
  /** The fields to read, for formats that can skip the others. Default: all. */
  readonly fields?: readonly string[] | undefined;
  /** Size in bytes at which a slice is cut. */
  readonly sliceBytes: number;
  /** Rows before it are left out. */
  readonly from: InputPlace;
  /** Called with the number of bytes read. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/**
 * The rows of some files in slices, one file after another, each with the place after it.
 *
 * @throws BatchError `BATCH_INPUT`, `BATCH_UNSUPPORTED`
 */
export async function* readSlices(
  files: readonly InputFile[],
  { format, fields, sliceBytes, from, onBytes = () => {} }: ReadOptions,
): AsyncGenerator<PlacedSlice & { readonly next: InputPlace }> {
  for (const [at, file] of files.entries()) {
    const bounds = { sliceBytes, recordBytes: MAX_ROW_BYTES, fromLine: at === from.file ? from.line : 1 };
    if (at < from.file) {
      onBytes(file.bytes ?? 0);
      continue;
    }
    for await (const slice of readFile(file, format, fields, bounds, onBytes))
      yield { ...slice, next: { file: at, line: slice.nextLine } };
  }
}

async function* readFile(
  file: InputFile,
  format: RowFormat,
  fields: readonly string[] | undefined,
  bounds: SliceBounds,
  onBytes: (bytes: number) => void,
): AsyncGenerator<PlacedSlice> {
  const kind = chooseFormat(file.path, format);
  if (kind.format === 'parquet') {
    yield* parquetSlices(file.path, fields?.map(topField), bounds);
    onBytes(file.bytes ?? 0);
    return;
  }
  const raw: Readable = file.path === '-' ? process.stdin : createReadStream(file.path, { highWaterMark: 256 * 1024 });
  raw.on('data', (chunk: Buffer) => onBytes(chunk.length));
  raw.pause();
  const unpack = decompressor(kind.compression);
  const chunks = unpack === undefined ? raw : pipeInto(raw, unpack);
  try {
    const separator = SEPARATORS[kind.format];
    yield* separator === undefined ? jsonSlices(chunks, bounds) : csvSlices(chunks, bounds, separator);
  } catch (cause) {
    const code = errorCode(cause);
    if (!/^(Z_|ERR_ZSTD|ZSTD)/.test(code)) throw cause;
    throw new BatchError('BATCH_INPUT', `${file.path} is damaged: ${code}`, { cause });
  }
}

function pipeInto(raw: Readable, unpack: NodeJS.ReadWriteStream & AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  raw.on('error', (error) => unpack.emit('error', error));
  raw.pipe(unpack);
  return unpack;
}

/** The rows of a slice, in their order. @throws BatchError `BATCH_INPUT` */
export function sliceRows(slice: InputSlice): Iterable<JsonLine> {
  if (slice.kind === 'rows') return slice.rows;
  if (slice.kind === 'csv') return parseCsvRows(slice);
  const { buffer, byteOffset, byteLength } = slice.bytes;
  return splitLines(Buffer.from(buffer, byteOffset, byteLength), slice.line);
}
