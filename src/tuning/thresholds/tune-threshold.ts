import { SCORE_CEILING } from '../../engine/rules/scan/clusters.js';
import { outcomesOf, type Side } from '../../evaluation/report/sides.js';
import type { Scored } from '../../evaluation/scoring/score-texts.js';
import { TuningError } from '../../evaluation/tuning-error.js';
import { type BenignThreshold, benignThreshold, type Guarantee } from './benign-threshold.js';

/** What `tune --benign-only` found; `--json` prints it. Fields are only ever added. */
export interface TunedThreshold extends BenignThreshold {
  readonly schema: 'portcullis.threshold/1';
  /** `both`: the model's threshold beside the rules as they are, so that both together keep the budget. */
  readonly side: Side;
  /** What `createEngine({ thresholds })` takes. */
  readonly thresholds: { readonly rules: number } | { readonly model: number };
  readonly before: { readonly threshold: number; readonly alarms: number };
  readonly rulesVersion: string;
  readonly modelVersion: string;
  readonly leftOut: {
    /** Rows labelled as attacks. */
    readonly attacks: number;
    /** Texts the model gave no answer to. */
    readonly unanswered: number;
  };
}

/** Every text without the label of an attack is taken for benign. @throws TuningError as `benignThreshold` does */
export const tuneThreshold = (scored: Scored, side: Side, guarantee: Guarantee): TunedThreshold => {
  const before = side === 'rules' ? scored.rulesThreshold : scored.modelThreshold;
  if (before === null) throw new TuningError(`Side ${side} needs a model.`);
  const benign = scored.texts.filter(({ label }) => label !== 'injection');
  const answered = side === 'rules' ? benign : benign.filter(({ probability }) => probability !== null);
  const outcomes = outcomesOf(
    answered.map((text) => ({ ...text, label: 'benign' as const })),
    side,
    scored,
  );
  const found = benignThreshold(
    outcomes.map(({ score }) => score),
    guarantee,
    side === 'rules' ? SCORE_CEILING : 1,
  );
  return {
    schema: 'portcullis.threshold/1',
    side,
    ...found,
    thresholds: side === 'rules' ? { rules: found.threshold } : { model: found.threshold },
    before: { threshold: before, alarms: outcomes.filter(({ isBlocked }) => isBlocked).length },
    rulesVersion: scored.rulesVersion,
    modelVersion: scored.modelVersion,
    leftOut: { attacks: scored.texts.length - benign.length, unanswered: benign.length - answered.length },
  };
};
