import type { ExplainedVerdict } from '../engine/explain.js';
import { orderedMap } from '../engine/limit.js';
import type { Verdict } from '../engine/verdict.js';
import { ScoringError } from '../workers/calls.js';
import type { EnginePool } from '../workers/engine-pool.js';
import { type BatchCounts, countRows } from './batch-counts.js';
import { BatchError, type Compression, compressPiece, type RowFormat, SEPARATORS } from './formats/file-format.js';
import { sliceRows } from './formats/input-files.js';
import type { InputSlice, PlacedSlice } from './record-slices.js';
import { csvEncoder, JSON_LINES_ENCODER, outputColumns, type RowEncoder, type RowFields, rowReader } from './row.js';
import { createVerdictCache, type RowScoring, type ScoredRow, scoreRow } from './score-row.js';

/** Slices in flight for each worker: one in work, one queued, and some that wait for their turn in the output. */
const SLICES_PER_WORKER = 6;
const BYTES_AT_ONCE = 4 * 2 ** 20;

/**
 * Scores slices in order. In mode `rules` an engine worker scores a whole slice; if the worker is lost, the slice is
 * scored row by row. With the model, each row goes to the first free worker, and a repeated text is scored once.
 */
export async function* scoreSlices<Place extends PlacedSlice>(
  slices: AsyncIterable<Place>,
  settings: RowSettings,
  pool: EnginePool,
  workers: number,
): AsyncGenerator<Place & { readonly result: SliceResult }> {
  const cache = createVerdictCache<Verdict | ExplainedVerdict>();
  const scoring = { workers: pool, cache, findings: settings.findings };

  async function score({ slice, size }: Place): Promise<SliceResult> {
    if (pool.info.mode !== 'rules') return scoreSlice(slice, settings, scoring);
    try {
      return (await pool.run({ slice, settings } satisfies SliceTask, size)) as SliceResult;
    } catch (error) {
      if (!(error instanceof ScoringError) || error.code !== 'SCORER_LOST') throw error;
      return scoreSlice(slice, settings, scoring);
    }
  }

  yield* orderedMap(slices, async (placed) => ({ ...placed, result: await score(placed) }), {
    items: SLICES_PER_WORKER * (workers + 1),
    size: { max: BYTES_AT_ONCE, of: ({ size }) => size },
  });
}

/** Settings for reading, scoring and encoding rows; can be sent to another process. */
export interface RowSettings extends RowFields {
  readonly findings: boolean;
  /** Stops at the first row that can't be scored. */
  readonly strict: boolean;
  readonly format: RowFormat;
  readonly compression: Compression;
}

export interface SliceTask {
  readonly slice: InputSlice;
  readonly settings: RowSettings;
}

/** A scored slice, encoded for the output; can be sent to another process. */
export interface SliceResult {
  /** A self-contained part of the output. */
  readonly bytes: Uint8Array;
  readonly counts: BatchCounts;
  /** The reason why there are no more rows: `strict`, or an input that can't be read any further. */
  readonly stopped?: { readonly code: 'BATCH_STRICT' | 'BATCH_INPUT'; readonly message: string };
}

export async function scoreSlice(slice: InputSlice, settings: RowSettings, scoring: RowScoring): Promise<SliceResult> {
  const read = rowReader(settings);
  const asked: Promise<ScoredRow>[] = [];
  let stopped: SliceResult['stopped'];
  try {
    for (const line of sliceRows(slice)) asked.push(scoreRow(read(line), line.line, scoring));
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
  const text = createEncoder(settings).encode(scored.map((one) => one.row));
  const bytes = text === '' ? Buffer.alloc(0) : compressPiece(Buffer.from(text), settings.compression);
  return { bytes, counts: countRows(scored), ...(stopped === undefined ? {} : { stopped }) };
}

/** The encoder of the output format; Parquet is converted from JSON Lines at the end. */
export function createEncoder({ format, keep = [], findings }: RowSettings): RowEncoder {
  const separator = SEPARATORS[format];
  return separator === undefined ? JSON_LINES_ENCODER : csvEncoder(outputColumns(keep, findings), separator);
}
