import { type Engine, type Input, inputText, type Verdict } from '../index.js';
import { openScorerEngine } from './open-scorer-engine.js';
import type { ScorerPool } from './scorer-pool.js';
import type { ScoreOptions, ScorerSettings } from './scorer-settings.js';
import { ScoringError } from './scoring-errors.js';

/**
 * UTF-16 code units. The rules read so many in about a millisecond, the worst text in a few: handing them to another
 * process and back costs as much, and a longer one would keep other calls waiting.
 */
const SHORT = 1_024;

/** A pool whose calls of mode `rules` on short texts are answered in this process. Opens its engine while the pool starts. */
export async function shortTextsHere(opening: Promise<ScorerPool>, settings: ScorerSettings): Promise<ScorerPool> {
  // Until it is awaited, a rejection would end the process.
  opening.catch(() => undefined);
  try {
    const early = settings.mode === 'rules' ? await rulesEngine(settings) : undefined;
    const pool = await opening;
    if (pool.info.mode !== 'rules') return pool;
    const here = early ?? (await rulesEngine(settings));
    if (here.info.rules_version !== pool.info.rules_version)
      throw new ScoringError('SCORER_REFUSED', 'the rules on disk changed while the scorers started');
    return { ...pool, score: scoreWith(pool, here) };
  } catch (error) {
    await opening.then(
      (pool) => pool.close(),
      () => undefined,
    );
    throw error;
  }
}

async function rulesEngine(settings: ScorerSettings): Promise<Engine> {
  return (await openScorerEngine({ ...settings, mode: 'rules', model: false })).engine;
}

function scoreWith(pool: ScorerPool, here: Engine): ScorerPool['score'] {
  const score = async (input: Input, options: ScoreOptions = {}): Promise<Verdict> => {
    const isHere = (options.mode ?? 'rules') === 'rules' && inputText(input).length <= SHORT;
    return isHere ? here.scan(input, options) : pool.score(input, options);
  };
  return score as ScorerPool['score'];
}
