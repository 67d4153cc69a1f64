import type { ExplainedVerdict, Verdict } from '../index.js';
import { ScoringError } from '../workers/calls.js';
import type { EnginePool } from '../workers/engine-pool.js';
import { answerSlice, type RowSettings, type SliceAnswer } from './answer-slice.js';
import type { SliceTask } from './batch-child.js';
import type { PlacedSlice } from './input-slice.js';
import { createVerdictCache } from './verdict-cache.js';
import { workAhead } from './work-ahead.js';

/** Slices under way for each scorer: one it is at, one that waits, and as many again that wait for their turn. */
const SLICES_A_SCORER = 6;
const BYTES_AT_ONCE = 4 * 2 ** 20;

/**
 * Answers slices by scorers, in their order. In mode `rules` a scorer does the whole work on a slice, and a slice that
 * a scorer was lost over is taken row by row. With the model each row goes to the scorer that is free first, and a text
 * that comes again is never scored twice.
 */
export async function* answerSlices<Place extends PlacedSlice>(
  slices: AsyncIterable<Place>,
  settings: RowSettings,
  pool: EnginePool,
  scorers: number,
): AsyncGenerator<Place & { readonly answer: SliceAnswer }> {
  const cache = createVerdictCache<Verdict | ExplainedVerdict>();
  const scoring = { scorers: pool, cache, findings: settings.findings };

  async function answer({ slice, size }: Place): Promise<SliceAnswer> {
    if (pool.info.mode !== 'rules') return answerSlice(slice, settings, scoring);
    try {
      return (await pool.run({ slice, settings } satisfies SliceTask, size)) as SliceAnswer;
    } catch (error) {
      if (!(error instanceof ScoringError) || error.code !== 'SCORER_LOST') throw error;
      return answerSlice(slice, settings, scoring);
    }
  }

  const answered = workAhead(
    slices,
    async (placed) => ({ ...placed, answer: await answer(placed) }),
    ({ size }) => size,
    { items: SLICES_A_SCORER * (scorers + 1), size: BYTES_AT_ONCE },
  );
  yield* answered;
}
