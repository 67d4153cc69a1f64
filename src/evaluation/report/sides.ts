import type { Outcome } from '../metrics/figures.js';
import type { Scored, ScoredText } from '../scoring/score-texts.js';

/** Detectors that decide: the rules alone, the model alone, or both as in mode `hybrid`. */
export type Side = 'rules' | 'model' | 'both';

type Thresholds = Pick<Scored, 'rulesThreshold' | 'modelThreshold'>;

export function listSides({ modelThreshold }: Pick<Scored, 'modelThreshold'>): readonly Side[] {
  return modelThreshold === null ? ['rules'] : ['rules', 'model', 'both'];
}

/** The side that decides in the default mode. */
export function decidingSide(scored: Pick<Scored, 'modelThreshold'>): Side {
  return scored.modelThreshold === null ? 'rules' : 'both';
}

/** True where the side would block. A model that failed blocks nothing. */
export function isBlocked(text: ScoredText, side: Side, thresholds: Thresholds): boolean {
  const byRules = text.rulesScore >= thresholds.rulesThreshold;
  if (side === 'rules') return byRules;
  if (side === 'both' && byRules && !text.cleared) return true;
  const score = side === 'model' ? text.probability : text.combined;
  const threshold = text.modelThreshold ?? thresholds.modelThreshold;
  return score !== null && threshold !== null && score >= threshold;
}

/**
 * One number to rank by. Of both sides: 1 where the rules block and the model does not clear them, else the model's
 * probability as the rules raise it: the curve shows other model thresholds with the rules unchanged.
 */
function rankingScore(text: ScoredText, side: Side, { rulesThreshold }: Thresholds): number {
  if (side === 'rules') return text.rulesScore;
  if (side === 'model') return text.probability ?? 0;
  return text.rulesScore >= rulesThreshold && !text.cleared ? 1 : (text.combined ?? text.rulesScore);
}

/** The judged texts as outcomes of one side; texts without a label are left out. */
export function listOutcomes(texts: readonly ScoredText[], side: Side, thresholds: Thresholds): readonly Outcome[] {
  return texts
    .filter(({ label }) => label !== undefined)
    .map((text) => ({
      score: rankingScore(text, side, thresholds),
      isAttack: text.label === 'injection',
      isBlocked: isBlocked(text, side, thresholds),
    }));
}
