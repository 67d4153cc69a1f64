import { type RowFields, rowReader } from './answer-row.js';
import { type BatchCounts, countRows } from './batch-counts.js';
import { BatchError } from './batch-error.js';
import { compressPiece } from './compress.js';
import { csvRowsOf } from './csv-rows.js';
import { csvEncoder, jsonLinesEncoder, outputColumns, type RowEncoder } from './encode-row.js';
import type { Compression, RowFormat } from './format.js';
import type { InputSlice } from './input-slice.js';
import { type JsonLine, linesOf } from './json-lines.js';
import { type RowScoring, type ScoredRow, scoreRow } from './score-row.js';

/** What becomes of rows; can be sent to another process. */
export interface RowSettings extends RowFields {
  readonly findings: boolean;
  /** Stops at the first row that can't be scored. */
  readonly strict: boolean;
  readonly format: RowFormat;
  readonly compression: Compression;
}

/** A slice as it stands in the output; can be sent to another process. */
export interface SliceAnswer {
  /** A part of the output that is whole by itself. */
  readonly bytes: Uint8Array;
  readonly counts: BatchCounts;
  /** Why there are no more rows: `strict`, or an input that can't be read any further. */
  readonly stopped?: { readonly code: 'BATCH_STRICT' | 'BATCH_INPUT'; readonly message: string };
}

/** Reads, scores and writes the rows of a slice, in their order. */
export async function answerSlice(slice: InputSlice, settings: RowSettings, scoring: RowScoring): Promise<SliceAnswer> {
  const read = rowReader(settings);
  const asked: Promise<ScoredRow>[] = [];
  let stopped: SliceAnswer['stopped'];
  try {
    for (const line of rowsOf(slice)) asked.push(scoreRow(read(line), line.line, scoring));
  } catch (error) {
    if (!(error instanceof BatchError) || error.code !== 'BATCH_INPUT') throw error;
    stopped = { code: error.code, message: error.message };
  }
  let scored: readonly ScoredRow[] = await Promise.all(asked);
  const bad = settings.strict ? scored.findIndex(({ row }) => 'error' in row) : -1;
  const { row } = scored[bad] ?? {};
  if (row !== undefined && 'error' in row) {
    scored = scored.slice(0, bad + 1);
    stopped = { code: 'BATCH_STRICT', message: `Row at line ${String(row.line)}: ${String(row.error)}.` };
  }
  const text = encoderOf(settings).encode(scored.map((one) => one.row));
  const bytes = text === '' ? Buffer.alloc(0) : compressPiece(Buffer.from(text), settings.compression);
  return { bytes, counts: countRows(scored), ...(stopped === undefined ? {} : { stopped }) };
}

/** Writes rows as the output has them; Parquet is made of JSON Lines at the end. */
export function encoderOf({ format, keep = [], findings }: RowSettings): RowEncoder {
  return format === 'csv' ? csvEncoder(outputColumns(keep, findings)) : jsonLinesEncoder;
}

function rowsOf(slice: InputSlice): Iterable<JsonLine> {
  if (slice.kind === 'rows') return slice.rows;
  if (slice.kind === 'csv') return csvRowsOf(slice);
  const { buffer, byteOffset, byteLength } = slice.bytes;
  return linesOf(Buffer.from(buffer, byteOffset, byteLength), slice.line);
}
