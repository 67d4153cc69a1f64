import { TuningError } from '../../evaluation/tuning-error.js';
import { allowedAlarms, binomialUpperBound, samplesNeeded } from './binomial-bound.js';

/** What is to be guaranteed. Both lie between 0 and 1, ends excluded. */
export interface Guarantee {
  /** The largest false-positive rate that is borne. */
  readonly budget: number;
  /** How sure it must be, over the draw of the texts. */
  readonly confidence: number;
}

/** A threshold with what it rests on. */
export interface BenignThreshold extends Guarantee {
  readonly texts: number;
  /** Texts at or above it are blocked. */
  readonly threshold: number;
  /** Alarms that the threshold was allowed among these texts, and those it raises: fewer where scores tie. */
  readonly allowedAlarms: number;
  readonly alarms: number;
  /** Clopper-Pearson bound of the rate for the allowed alarms, 0..1; at most the budget. */
  readonly upperBound: number;
  /** Texts that one allowed alarm more would take. */
  readonly textsForOneMore: number;
}

/** Thresholds are written with six decimals. */
const grid = 1e6;

/** A threshold keeps this distance from the scores where they leave room: the last digits of a model's answer differ between CPUs. */
const clearance = 0.005;

/** The threshold above `score` and at most at `next`, the next higher one: midway between them, at most `clearance` above. */
const clearAbove = (score: number, next: number): number => {
  const wanted = Math.min((score + next) / 2, score + clearance);
  let step = Math.ceil(wanted * grid);
  // Where scores are closer than the grid the product may have been rounded to the step below.
  while (step / grid <= score) step += 1;
  return step / grid;
};

const within = (name: string, value: number): void => {
  if (!(value > 0 && value < 1)) throw new TuningError(`The ${name} must lie between 0 and 1.`);
};

/**
 * A threshold whose false-positive rate on other texts of the same kind is within the budget, from the scores (0..1)
 * of benign texts alone: but for a small clearance the smallest such. It lies above the (k + 1)th highest score, k being the alarms allowed before
 * any score is seen: so the guarantee holds although the threshold is chosen on the same texts, for any
 * distribution and with ties (a one-sided tolerance limit, as split conformal prediction with its confidence).
 *
 * @param ceiling scores never exceed it: a threshold that nothing could reach is refused
 * @throws TuningError with the number of texts needed, where there are too few; and where no threshold will do
 */
export const benignThreshold = (
  scores: readonly number[],
  { budget, confidence }: Guarantee,
  ceiling: number = 1,
): BenignThreshold => {
  within('budget', budget);
  within('confidence', confidence);
  const allowed = allowedAlarms(scores.length, budget, confidence);
  const share = `${Number((100 * budget).toPrecision(6))} % at ${Number((100 * confidence).toPrecision(6))} % confidence`;
  if (allowed < 0)
    throw new TuningError(
      `${scores.length} benign texts are too few for ${share}: it takes ${samplesNeeded(0, budget, confidence)}.`,
    );
  const sorted = [...scores].sort((a, b) => b - a);
  const below = sorted[allowed] as number;
  const threshold = clearAbove(below, sorted.findLast((score) => score > below) ?? ceiling);
  if (below >= ceiling || threshold > ceiling)
    throw new TuningError(
      `No threshold keeps ${share}: of ${scores.length} texts ${allowed} may be blocked, and more have the highest score there is.`,
    );
  return {
    budget,
    confidence,
    texts: scores.length,
    threshold,
    allowedAlarms: allowed,
    alarms: scores.filter((score) => score >= threshold).length,
    upperBound: binomialUpperBound(allowed, scores.length, confidence),
    textsForOneMore: samplesNeeded(allowed + 1, budget, confidence),
  };
};
