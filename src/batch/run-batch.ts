import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath } from 'node:fs/promises';
import { openScorerPool } from '../scoring/scorer-pool.js';
import type { ScorerSettings } from '../scoring/scorer-settings.js';
import { OWN_FIELDS, type RowFields } from './answer-row.js';
import { type BatchCounts, NO_COUNTS, withRows } from './batch-counts.js';
import { BatchError } from './batch-error.js';
import { compressPiece, decompressor } from './compress.js';
import { csvEncoder, jsonLinesEncoder, outputColumns } from './encode-row.js';
import { formatOf, type RowFormat } from './format.js';
import { findInputs, readRows } from './open-input.js';
import { type OutputFile, openOutputFile } from './output-file.js';
import { writeParquet } from './parquet-file.js';
import { type ScoredRow, scoreRows } from './score-stream.js';

/** One batch. */
export interface BatchJob extends RowFields {
  /** Files, patterns, or `-`. */
  readonly inputs: readonly string[];
  /** A file, or `-` for standard output. */
  readonly out: string;
  /** Where a file's name doesn't say; default `jsonl`. */
  readonly format?: RowFormat | undefined;
  readonly findings?: boolean | undefined;
  readonly resume?: boolean | undefined;
  /** Stops at the first row that can't be scored. */
  readonly strict?: boolean | undefined;
  /** Scorer processes. */
  readonly scorers: number;
  readonly engine: ScorerSettings;
  readonly onProgress?: ((progress: BatchProgress) => void) | undefined;
}

/** How far a batch has come. */
export interface BatchProgress {
  readonly counts: BatchCounts;
  /** Rows of `counts` that an earlier run had scored. */
  readonly resumedRows: number;
  readonly bytesRead: number;
  /** Undefined where an input's size isn't known. */
  readonly bytesTotal: number | undefined;
}

/** What a batch came to. */
export interface BatchResult extends BatchProgress {
  readonly rulesVersion: string;
  readonly mlVersion: string;
  readonly mode: string;
  readonly scorersLost: number;
}

const ROWS_A_PIECE = 512;
const CHECKPOINT_MS = 2_000;
/** Nobody waits for a row: a busy machine must not turn the model's verdicts into the rules'. */
const MODEL_MS = 60_000;

/** Scores the rows of files into a file. @throws BatchError, ScoringError */
export async function runBatch(job: BatchJob): Promise<BatchResult> {
  const taken = job.keep?.find((name) => OWN_FIELDS.has(name));
  if (taken !== undefined)
    throw new BatchError('BATCH_OUTPUT', `The output has a field \`${taken}\` of its own: it can't be kept.`);
  const inputs = await findInputs(job.inputs);
  const target = formatOf(job.out, job.format ?? 'jsonl');
  for (const { path } of inputs) decompressor(formatOf(path, job.format ?? 'jsonl').compression)?.destroy();
  compressPiece(Buffer.alloc(0), target.compression);
  const outPath = await realpath(job.out).catch(() => undefined);
  if (outPath !== undefined && inputs.some(({ path }) => path === outPath))
    throw new BatchError(
      'BATCH_OUTPUT',
      'INPUT and --out are the same file: it would be overwritten while it is read.',
    );
  const pool = await openScorerPool({
    ...job.engine,
    timeoutMs: MODEL_MS,
    scorers: job.scorers,
    queueLimit: 100_000,
    deadlineMs: 120_000,
    loadTimeoutMs: 300_000,
  });
  const { textField, idField, keep = [], findings = false } = job;
  const settings = {
    textField,
    idField,
    keep,
    findings,
    format: job.format,
    inputs,
    info: pool.info,
  };
  const key = createHash('sha256').update(JSON.stringify(settings)).digest('hex');
  const output =
    job.out === '-' ? undefined : await openOutputFile(job.out, key, job.resume === true).catch(closing(pool));
  try {
    const encoder = target.format === 'csv' ? csvEncoder(outputColumns(keep, findings)) : jsonLinesEncoder;
    const from = output?.from;
    let counts = from?.counts ?? NO_COUNTS;
    let bytesRead = 0;
    const sizes = inputs.map(({ bytes }) => bytes);
    const bytesTotal = sizes.some((bytes) => bytes === undefined)
      ? undefined
      : sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
    const progress = (): BatchProgress => ({ counts, resumedRows: from?.counts.rows ?? 0, bytesRead, bytesTotal });
    const write = (text: string): Promise<void> => put(output, compressPiece(Buffer.from(text), target.compression));
    if (from === undefined && encoder.head !== '') await write(encoder.head);
    if (from?.complete !== true) {
      const fields = [textField ?? 'text', idField ?? 'id', ...keep];
      const lines = readRows(inputs, job.format ?? 'jsonl', fields, (bytes) => {
        bytesRead += bytes;
      });
      let piece: ScoredRow[] = [];
      let checkpointed = performance.now();
      const flush = async (): Promise<void> => {
        await write(encoder.encode(piece.map(({ row }) => row)));
        counts = withRows(counts, piece);
        piece = [];
        job.onProgress?.(progress());
        if (performance.now() - checkpointed < CHECKPOINT_MS) return;
        await output?.checkpoint(counts, false);
        checkpointed = performance.now();
      };
      for await (const scored of scoreRows(skip(lines, counts.rows), {
        ...job,
        scorers: pool,
        rowsAtOnce: 64 * (job.scorers + 1),
      })) {
        piece.push(scored);
        const failed = job.strict === true && 'error' in scored.row;
        if (failed || piece.length >= ROWS_A_PIECE) await flush();
        if (failed && 'error' in scored.row)
          throw new BatchError('BATCH_STRICT', `Row at line ${String(scored.row.line)}: ${String(scored.row.error)}.`);
      }
      if (piece.length > 0) await flush();
    }
    await output?.checkpoint(counts, true);
    await output?.finish(
      target.format === 'parquet' ? (rows, made) => writeParquet(rows, made, keep, findings) : undefined,
    );
    const { rules_version, ml_version, mode } = pool.info;
    return { ...progress(), rulesVersion: rules_version, mlVersion: ml_version, mode, scorersLost: pool.stats().lost };
  } finally {
    await output?.close();
    await pool.close();
  }
}

function closing(pool: { close(): Promise<void> }): (error: unknown) => Promise<never> {
  return async (error) => {
    await pool.close();
    throw error;
  };
}

async function put(output: OutputFile | undefined, bytes: Buffer): Promise<void> {
  if (output !== undefined) await output.append(bytes);
  else if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
}

async function* skip<Item>(items: AsyncIterable<Item>, count: number): AsyncGenerator<Item> {
  let left = count;
  for await (const item of items) {
    if (left > 0) left -= 1;
    else yield item;
  }
}
