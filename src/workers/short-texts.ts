import { type Input, inputText } from '../engine/input.js';
import type { Verdict } from '../engine/verdict.js';
import { type EngineWorkerSettings, type ScoreOptions, ScoringError } from './calls.js';
import type { EnginePool } from './engine-pool.js';
import { openWorkerEngine, SHARE_BETWEEN_CALLS, type WorkerEngine } from './serve-engine.js';

/** UTF-16 code units. To hand so short a text over and back costs as much as to read it. */
const TINY = 256;

/** Characters that the rules read in about half a millisecond (a few for the worst text); a longer text would delay other calls. */
const SHORT = 1_024;

/** Calls in flight from which this process takes short texts itself, since the workers are busy. */
const ENOUGH = 16;

export interface ShortTextPool extends EnginePool {
  /** Warms up this process's engine between calls; until that is done the workers take every call. */
  warmUp(): Promise<void>;
}

/**
 * A pool whose calls of mode `rules` are answered in this process where the text is tiny, or short and the workers have enough
 * to do. Opens its engine while the pool starts.
 */
export async function withShortTextsInline(
  opening: Promise<EnginePool>,
  settings: EngineWorkerSettings,
): Promise<ShortTextPool> {
  // Until it is awaited, a rejection would end the process.
  opening.catch(() => undefined);
  try {
    const early = settings.mode === 'rules' ? await openRules(settings) : undefined;
    const pool = await opening;
    if (pool.info.mode !== 'rules') return { ...pool, warmUp: () => Promise.resolve() };
    const here = early ?? (await openRules(settings));
    if (here.engine.info.rules_version !== pool.info.rules_version)
      throw new ScoringError('SCORER_REFUSED', 'the rules on disk changed while the workers started');
    let isWarm = false;
    const warmUp = async (): Promise<void> => {
      await here.warmUp(SHARE_BETWEEN_CALLS);
      isWarm = true;
    };
    return { ...pool, score: scoreWith(pool, here, () => isWarm), warmUp };
  } catch (error) {
    await opening.then(
      (pool) => pool.close(),
      () => undefined,
    );
    throw error;
  }
}

function openRules(settings: EngineWorkerSettings): Promise<WorkerEngine> {
  return openWorkerEngine({ ...settings, mode: 'rules', model: false });
}

function scoreWith(pool: EnginePool, here: WorkerEngine, isWarm: () => boolean): EnginePool['score'] {
  const score = async (input: Input, options: ScoreOptions = {}): Promise<Verdict> => {
    const { length } = inputText(input);
    const fits = length <= TINY || (length <= SHORT && isBusy(pool));
    if (!fits || !isWarm() || (options.mode ?? 'rules') !== 'rules') return pool.score(input, options);
    const { change, channel, explain, evidenceId } = options;
    return here.enginesFor(change).engine.scan(input, { channel, explain, evidenceId });
  };
  return score as EnginePool['score'];
}

function isBusy(pool: EnginePool): boolean {
  const { waiting, underWay, ready } = pool.stats();
  return waiting > 0 || underWay >= ENOUGH * ready;
}
