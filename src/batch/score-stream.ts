import type { ExplainedVerdict } from '../engine/explain.js';
import { orderedMap } from '../engine/limit.js';
import type { Verdict } from '../engine/verdict.js';
import type { EnginePool } from '../workers/engine-pool.js';
import type { JsonLine } from './record-slices.js';
import { type OutputRow, type ReadRow, type RowFields, rowReader } from './row.js';
import { createVerdictCache, type ScoredRow, scoreRow } from './score-row.js';

type Workers = Pick<EnginePool, 'score'>;

/** Settings of a stream of rows, and the engine workers that score it: a pool from `openEnginePool`, which the caller closes. */
export type ScoreStreamOptions = ScoreStreamSettings &
  (
    | { readonly workers: Workers; readonly scorers?: undefined }
    | {
        readonly workers?: undefined;
        /** @deprecated The name of `workers` in 1.0. */
        readonly scorers: Workers;
      }
  );

/** Settings of a stream of rows. */
export interface ScoreStreamSettings extends RowFields {
  /** Adds each row's findings. */
  readonly findings?: boolean | undefined;
  /** Rows in flight at once; default 256. */
  readonly rowsAtOnce?: number | undefined;
  /** Characters in flight at once (a single row may have more); default 4 million. */
  readonly charactersAtOnce?: number | undefined;
  /** Size of the verdict cache, in characters of the texts; default 8 million, 0 for none. */
  readonly cacheCharacters?: number | undefined;
  /** Milliseconds a worker may take over one row before it is killed. */
  readonly deadlineMs?: number | undefined;
}

interface NumberedRow {
  readonly row: ReadRow;
  readonly line: number;
}

/**
 * Scores rows: an output row for each, in their order. Reads ahead only as far as the bounds allow, so a slow reader
 * of the output slows the reader of the input. A row that can't be scored becomes a row with an error.
 */
export async function* scoreRows(
  lines: AsyncIterable<JsonLine>,
  options: ScoreStreamOptions,
): AsyncGenerator<ScoredRow> {
  const read = rowReader(options);
  const cache = createVerdictCache<Verdict | ExplainedVerdict>(options.cacheCharacters);

  const { findings = false, deadlineMs } = options;
  const scoring = { workers: options.workers ?? options.scorers, cache, findings, deadlineMs };

  async function* rows(): AsyncGenerator<NumberedRow> {
    for await (const line of lines) yield { row: read(line), line: line.line };
  }
  yield* orderedMap(rows(), ({ row, line }) => scoreRow(row, line, scoring), {
    items: options.rowsAtOnce ?? 256,
    size: { max: options.charactersAtOnce ?? 4 * 2 ** 20, of: ({ row }) => ('output' in row ? 0 : row.size) },
  });
}

/**
 * Scores texts or rows (objects with the fields that `options` name): an output row for each, in their order, with
 * back-pressure both ways.
 *
 * @example
 * ```ts
 * const workers = await openEnginePool({ workers: 2 });
 * for await (const row of scoreStream(texts, { workers })) console.log(row);
 * await workers.close();
 * ```
 */
export async function* scoreStream(
  source: Iterable<unknown> | AsyncIterable<unknown>,
  options: ScoreStreamOptions,
): AsyncGenerator<OutputRow> {
  async function* lines(): AsyncGenerator<JsonLine> {
    let line = 1;
    for await (const value of source) {
      const row = typeof value === 'string' ? { [options.textField ?? 'text']: value } : value;
      yield { line: line++, content: { value: row } };
    }
  }
  for await (const { row } of scoreRows(lines(), options)) yield row;
}
