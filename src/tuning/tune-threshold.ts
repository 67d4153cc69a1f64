import { SCORE_CEILING } from '../engine/rules/scan/clusters.js';
import { allowedFalsePositives, binomialUpperBound, samplesNeeded } from '../evaluation/metrics/binomial.js';
import { groupByChannel } from '../evaluation/report/evaluation.js';
import { listOutcomes, type Side } from '../evaluation/report/sides.js';
import { percent } from '../evaluation/report/text-format.js';
import { TuningError } from '../evaluation/scoring/score-rules.js';
import type { Scored } from '../evaluation/scoring/score-texts.js';

/** The guarantee to keep. Both lie between 0 and 1, ends excluded. */
export interface Guarantee {
  /** The largest false-positive rate allowed. */
  readonly budget: number;
  /** Probability, over the draw of the texts, that the budget holds. */
  readonly confidence: number;
}

/** A threshold with what it rests on. */
export interface BenignThreshold extends Guarantee {
  readonly texts: number;
  /** Texts at or above it are blocked. */
  readonly threshold: number;
  /** False positives the threshold may have among these texts, and those it has: fewer where scores tie. */
  readonly allowedAlarms: number;
  readonly alarms: number;
  /** Clopper-Pearson bound of the rate for the allowed false positives, 0..1; at most the budget. */
  readonly upperBound: number;
  /** Texts needed before one more false positive is allowed. */
  readonly textsForOneMore: number;
}

/** Thresholds are written with six decimals. */
const GRID = 1e6;

/** A threshold keeps this distance from the scores where they leave room: the last digits of a model's output differ between CPUs. */
const CLEARANCE = 0.005;

/** The threshold above `score` and at most at `next`, the next higher one: midway between them, at most `clearance` above. */
function clearAbove(score: number, next: number): number {
  const wanted = Math.min((score + next) / 2, score + CLEARANCE);
  let step = Math.ceil(wanted * GRID);
  // Where scores are closer than the grid the product may have been rounded to the step below.
  while (step / GRID <= score) step += 1;
  return step / GRID;
}

function within(name: string, value: number): void {
  if (!(value > 0 && value < 1)) throw new TuningError(`The ${name} must lie between 0 and 1.`);
}

/**
 * A threshold whose false-positive rate on other texts of the same kind is within the budget, from the scores (0..1)
 * of benign texts alone: but for a small clearance the smallest such. It lies above the (k + 1)th highest score, where k false positives are allowed before
 * any score is seen: so the guarantee holds although the threshold is chosen on the same texts, for any
 * distribution and with ties (a one-sided tolerance limit, as split conformal prediction with its confidence).
 *
 * @param ceiling scores never exceed it: a threshold that nothing could reach is refused
 * @throws TuningError with the number of texts needed, where there are too few; and where no threshold will do
 */
export function benignThreshold(
  scores: readonly number[],
  { budget, confidence }: Guarantee,
  ceiling: number = 1,
): BenignThreshold {
  within('budget', budget);
  within('confidence', confidence);
  const allowed = allowedFalsePositives(scores.length, budget, confidence);
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
      `No threshold keeps ${share}: of ${scores.length} texts ${allowed} may be blocked, and more than that have the highest score.`,
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
}

/** The result of `tune --benign-only`; `--json` prints it. Fields are only ever added. */
export interface TunedThreshold extends BenignThreshold {
  readonly schema: 'portcullis.threshold/1';
  /** `both`: the model's threshold with the rules unchanged, such that both together keep the budget. */
  readonly side: Side;
  /** The value for `createEngine({ thresholds })`. */
  readonly thresholds: { readonly rules: number } | { readonly model: number };
  readonly before: { readonly threshold: number; readonly alarms: number };
  readonly rulesVersion: string;
  /** The rules' threshold that the texts were screened with. */
  readonly rulesThreshold: number;
  readonly modelVersion: string;
  /** Of the texts, and of the false positives that the threshold has among them; empty where no row names a channel. */
  readonly byChannel: readonly { readonly channel: string; readonly texts: number; readonly alarms: number }[];
  readonly leftOut: {
    /** Rows labelled as attacks. */
    readonly attacks: number;
    /** Texts the model failed on. */
    readonly unanswered: number;
  };
}

/** Every text without the label of an attack is taken for benign. @throws TuningError as `benignThreshold` does */
export function tuneThreshold(scored: Scored, side: Side, guarantee: Guarantee): TunedThreshold {
  const before = side === 'rules' ? scored.rulesThreshold : scored.modelThreshold;
  if (before === null) throw new TuningError(`Side ${side} needs a model.`);
  const benign = scored.texts.filter(({ label }) => label !== 'injection');
  const answered = side === 'rules' ? benign : benign.filter(({ probability }) => probability !== null);
  const outcomes = listOutcomes(
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
    rulesThreshold: scored.rulesThreshold,
    modelVersion: scored.modelVersion,
    byChannel: [...groupByChannel(answered.map(({ channel }, i) => ({ channel, score: outcomes[i]?.score ?? 0 })))].map(
      ([channel, texts]) => ({
        channel,
        texts: texts.length,
        alarms: texts.filter(({ score }) => score >= found.threshold).length,
      }),
    ),
    leftOut: { attacks: scored.texts.length - benign.length, unanswered: benign.length - answered.length },
  };
}

function basis({ texts, alarms, budget, confidence, upperBound }: TunedThreshold): string {
  return `${alarms} of ${texts} benign texts blocked; on others of the same kind at most ${percent(upperBound)} (budget ${percent(budget)}), ${percent(confidence)} sure`;
}

/** The threshold for a terminal. */
export function thresholdText(tuned: TunedThreshold): string {
  const { side, threshold, before, allowedAlarms, textsForOneMore, byChannel, leftOut } = tuned;
  const whose = side === 'rules' ? 'rules' : side === 'model' ? 'model alone' : 'model, beside the rules as they are';
  const left = [
    ...(leftOut.attacks > 0 ? [`${leftOut.attacks} rows labelled as attacks`] : []),
    ...(leftOut.unanswered > 0 ? [`${leftOut.unanswered} texts on which the model failed`] : []),
  ];
  return `Threshold of the ${whose}: ${threshold}
  ${basis(tuned)}
  before: ${before.threshold}, ${before.alarms} blocked
  ${allowedAlarms} false positives were allowed; ${allowedAlarms + 1} would take ${textsForOneMore} texts
${byChannel.map((of) => `  ${of.channel}: ${of.alarms} of ${of.texts} blocked\n`).join('')}${left.length > 0 ? `  left out: ${left.join(', ')}\n` : ''}`;
}

/**
 * An overlay file (YAML) with the threshold. For `both` it also pins the rules' threshold, which the guarantee rests on.
 * @param date `YYYY-MM-DD`, for the comment at its head
 */
export function thresholdOverlay(tuned: TunedThreshold, date: string): string {
  const { side, threshold, rulesVersion, rulesThreshold, modelVersion } = tuned;
  const versions = `rules ${rulesVersion}${side === 'rules' ? '' : `, model ${modelVersion}`}`;
  const lines = [
    ...(side === 'rules' ? [`threshold: ${threshold.toFixed(6)}`] : []),
    ...(side === 'both' ? [`threshold: ${rulesThreshold}`] : []),
    ...(side === 'rules' ? [] : [`model_threshold: ${threshold.toFixed(6)}`]),
  ];
  return `# portcullis tune --benign-only --side ${side}, ${date}, ${versions}\n# ${basis(tuned)}\n${lines.join('\n')}\n`;
}
