import { hash } from 'node:crypto';
import { once } from 'node:events';
import { realpath } from 'node:fs/promises';
import type { EngineWorkerSettings } from '../workers/calls.js';
import { openEnginePool } from '../workers/engine-pool.js';
import { workerProgram } from '../workers/open-worker.js';
import { addCounts, type BatchCounts, NO_COUNTS } from './batch-counts.js';
import { BatchError, chooseFormat, compressPiece, decompressor, type RowFormat } from './formats/file-format.js';
import { findInputs, readSlices } from './formats/input-files.js';
import { type OutputFile, openOutputFile } from './formats/output-file.js';
import { writeParquet } from './formats/parquet.js';
import { OWN_FIELDS, type RowFields } from './row.js';
import { createEncoder, scoreSlices } from './score-slices.js';

export interface BatchJob extends RowFields {
  /** Files, patterns, or `-`. */
  readonly inputs: readonly string[];
  /** A file, or `-` for standard output. */
  readonly out: string;
  /** Format of a file whose name doesn't say it; default `jsonl`. */
  readonly format?: RowFormat | undefined;
  readonly findings?: boolean | undefined;
  readonly resume?: boolean | undefined;
  /** Stops at the first row that can't be scored. */
  readonly strict?: boolean | undefined;
  /** Engine workers: processes that score. */
  readonly workers: number;
  readonly engine: EngineWorkerSettings;
  readonly onProgress?: ((progress: BatchProgress) => void) | undefined;
}

export interface BatchProgress {
  readonly counts: BatchCounts;
  /** Rows of `counts` that an earlier run had scored. */
  readonly resumedRows: number;
  readonly bytesRead: number;
  /** Undefined where an input's size isn't known. */
  readonly bytesTotal: number | undefined;
}

export interface BatchResult extends BatchProgress {
  readonly rulesVersion: string;
  readonly mlVersion: string;
  readonly mode: string;
  readonly workersLost: number;
}

/** Bytes of rows that a worker is given at once: some 40 milliseconds of its time; with the model a second. */
const RULES_SLICE = 2 ** 16;
const MODEL_SLICE = 2 ** 14;
/** Another number for each change of what a resume point says. */
const LAYOUT = 3;
const START = { counts: NO_COUNTS, place: { file: 0, line: 1 } };
const CHECKPOINT_MS = 2_000;
/** Nobody waits for a row: a busy machine must not turn the model's verdicts into the rules'. */
const MODEL_MS = 60_000;

/** Scores the rows of files into a file. @throws BatchError, ScoringError */
// Long: checks, opens, scores, closes: a step that fails must close what was opened.
export async function runBatch(job: BatchJob): Promise<BatchResult> {
  const taken = job.keep?.find((name) => OWN_FIELDS.has(name));
  if (taken !== undefined)
    throw new BatchError(
      'BATCH_OUTPUT',
      `\`${taken}\` is a field of the output, so the input field of that name can't be kept.`,
    );
  const inputs = await findInputs(job.inputs);
  const target = chooseFormat(job.out, job.format ?? 'jsonl');
  for (const { path } of inputs) decompressor(chooseFormat(path, job.format ?? 'jsonl').compression)?.destroy();
  compressPiece(Buffer.alloc(0), target.compression);
  const outPath = await realpath(job.out).catch(() => undefined);
  if (outPath !== undefined && inputs.some(({ path }) => path === outPath))
    throw new BatchError(
      'BATCH_OUTPUT',
      'INPUT and --out are the same file: it would be overwritten while it is read.',
    );
  const pool = await openEnginePool({
    ...job.engine,
    timeoutMs: MODEL_MS,
    workers: job.workers,
    childFile: workerProgram('batch-child'),
    queueLimit: 100_000,
    deadlineMs: 120_000,
    loadTimeoutMs: 300_000,
  });
  const { textField, idField, channelField, taskField, keep = [], findings = false, strict = false } = job;
  const named = { textField, idField, channelField, taskField, keep };
  const rows = { ...named, findings, strict, ...target };
  const settings = { ...named, findings, format: job.format, inputs, info: pool.info, layout: LAYOUT };
  const key = hash('sha256', JSON.stringify(settings));
  const output =
    job.out === '-' ? undefined : await openOutputFile(job.out, key, job.resume === true).catch(closing(pool));
  try {
    let { counts, place } = output?.from ?? START;
    let bytesRead = 0;
    const sizes = inputs.map(({ bytes }) => bytes);
    const bytesTotal = sizes.some((bytes) => bytes === undefined)
      ? undefined
      : sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
    const resumedRows = counts.rows;
    const progress = (): BatchProgress => ({ counts, resumedRows, bytesRead, bytesTotal });
    const { head } = createEncoder(rows);
    if (output?.from === undefined && head !== '')
      await put(output, compressPiece(Buffer.from(head), target.compression));
    if (output?.from?.complete !== true) {
      const slices = readSlices(inputs, {
        format: job.format ?? 'jsonl',
        fields: [textField ?? 'text', idField ?? 'id', channelField ?? [], taskField ?? [], keep].flat(),
        sliceBytes: pool.info.mode === 'rules' ? RULES_SLICE : MODEL_SLICE,
        from: place,
        onBytes: (bytes) => {
          bytesRead += bytes;
        },
      });
      // The first rows make the first resume point.
      let checkpointed = Number.NEGATIVE_INFINITY;
      for await (const { result, next } of scoreSlices(slices, rows, pool, job.workers)) {
        await put(output, result.bytes);
        counts = addCounts(counts, result.counts);
        job.onProgress?.(progress());
        // No resume point here: the rest of the slice is not in the output.
        if (result.stopped !== undefined) throw new BatchError(result.stopped.code, result.stopped.message);
        place = next;
        if (performance.now() - checkpointed < CHECKPOINT_MS) continue;
        await output?.checkpoint({ counts, place, complete: false });
        checkpointed = performance.now();
      }
    }
    await output?.checkpoint({ counts, place, complete: true });
    await output?.finish(
      target.format === 'parquet' ? (partial, made) => writeParquet(partial, made, keep, findings) : undefined,
    );
    const { rules_version, ml_version, mode } = pool.info;
    return { ...progress(), rulesVersion: rules_version, mlVersion: ml_version, mode, workersLost: pool.stats().lost };
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

async function put(output: OutputFile | undefined, bytes: Uint8Array): Promise<void> {
  if (output !== undefined) await output.append(bytes);
  else if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
}
