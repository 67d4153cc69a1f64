import type { Channel } from '../engine/channel.js';
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
export function benignThreshold(scores: readonly number[], guarantee: Guarantee, ceiling: number = 1): BenignThreshold {
  const found = findThreshold(scores, guarantee, ceiling);
  if (typeof found === 'string') throw new TuningError(found);
  return found;
}

/** As `benignThreshold`, or the reason why there is none. @throws TuningError for a budget or a confidence outside of 0..1 */
function findThreshold(
  scores: readonly number[],
  { budget, confidence }: Guarantee,
  ceiling: number,
): BenignThreshold | string {
  within('budget', budget);
  within('confidence', confidence);
  const allowed = allowedFalsePositives(scores.length, budget, confidence);
  const share = `${Number((100 * budget).toPrecision(6))} % at ${Number((100 * confidence).toPrecision(6))} % confidence`;
  if (allowed < 0)
    return `${scores.length} benign texts are too few for ${share}: it takes ${samplesNeeded(0, budget, confidence)}.`;
  const sorted = [...scores].sort((a, b) => b - a);
  const below = sorted[allowed] as number;
  const threshold = clearAbove(below, sorted.findLast((score) => score > below) ?? ceiling);
  if (below >= ceiling || threshold > ceiling)
    return `No threshold keeps ${share}: of ${scores.length} texts ${allowed} may be blocked, and more than that have the highest score.`;
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

/** Facts that every result of `tune --benign-only` has. */
interface Basis {
  /** `both`: the model's threshold with the rules unchanged, such that both together keep the budget. */
  readonly side: Side;
  readonly rulesVersion: string;
  /** The rules' threshold that the texts were screened with. */
  readonly rulesThreshold: number;
  readonly modelVersion: string;
  readonly leftOut: {
    /** Rows labelled as attacks. */
    readonly attacks: number;
    /** Texts the model failed on. */
    readonly unanswered: number;
  };
}

/** The threshold in force when the texts were screened, and its false positives among them. */
interface Before {
  readonly threshold: number;
  readonly alarms: number;
}

/** One threshold for all texts. `--json` prints it; fields are only ever added. */
export interface TunedThreshold extends BenignThreshold, Basis {
  readonly schema: 'portcullis.threshold/1';
  /** The value for `createEngine({ thresholds })`. */
  readonly thresholds: { readonly rules: number } | { readonly model: number };
  readonly before: Before;
  /** Of the texts, and of the false positives that the threshold has among them; empty where no row names a channel. */
  readonly byChannel: readonly { readonly channel: string; readonly texts: number; readonly alarms: number }[];
  /** The model's thresholds by channel, all of which the one threshold replaces; null where they were one already. */
  readonly replaces: Readonly<Record<Channel, number>> | null;
}

/** One channel's threshold, or the reason why it keeps the one in force. */
export interface ChannelThreshold {
  readonly channel: Channel;
  readonly texts: number;
  readonly before: Before;
  readonly found: BenignThreshold | null;
  /** Null where a threshold was found. */
  readonly reason: string | null;
}

/** The model's thresholds by channel, each with the same guarantee. `--json` prints it; fields are only ever added. */
export interface TunedChannels extends Guarantee, Basis {
  readonly schema: 'portcullis.channel-thresholds/1';
  /** The value for `createEngine({ thresholds })`: the channels for which a threshold was found. */
  readonly thresholds: { readonly model: Readonly<Partial<Record<Channel, number>>> };
  /** The channels that the texts name, in the order of their first text. */
  readonly channels: readonly ChannelThreshold[];
}

/** A benign text's score for the side that is tuned. */
interface Judged {
  readonly channel: Channel | undefined;
  readonly score: number;
  readonly isBlocked: boolean;
}

/**
 * Takes every text without the label of an attack for benign. Where texts name channels, the model gets a threshold for each.
 *
 * @throws TuningError as `benignThreshold` does; by channel only where no channel gets a threshold
 */
export function tuneThreshold(scored: Scored, side: Side, guarantee: Guarantee): TunedThreshold | TunedChannels {
  const before = side === 'rules' ? scored.rulesThreshold : scored.modelThreshold;
  if (before === null) throw new TuningError(`Side ${side} needs a model.`);
  const benign = scored.texts.filter(({ label }) => label !== 'injection');
  const answered = side === 'rules' ? benign : benign.filter(({ probability }) => probability !== null);
  const outcomes = listOutcomes(
    answered.map((text) => ({ ...text, label: 'benign' as const })),
    side,
    scored,
  );
  const texts = outcomes.map(
    ({ score, isBlocked }, i): Judged => ({ channel: answered[i]?.channel, score, isBlocked }),
  );
  const basis: Basis = {
    side,
    rulesVersion: scored.rulesVersion,
    rulesThreshold: scored.rulesThreshold,
    modelVersion: scored.modelVersion,
    leftOut: { attacks: scored.texts.length - benign.length, unanswered: benign.length - answered.length },
  };
  const { channelThresholds } = scored;
  const namesChannels = texts.some(({ channel }) => channel !== undefined && channel !== 'unknown');
  if (side !== 'rules' && channelThresholds !== null && namesChannels)
    return { ...tuneChannels(texts, channelThresholds, guarantee), ...basis };
  const found = benignThreshold(
    texts.map(({ score }) => score),
    guarantee,
    side === 'rules' ? SCORE_CEILING : 1,
  );
  return {
    schema: 'portcullis.threshold/1',
    ...found,
    ...basis,
    thresholds: side === 'rules' ? { rules: found.threshold } : { model: found.threshold },
    before: { threshold: before, alarms: countBlocked(texts) },
    byChannel: [...groupByChannel(texts)].map(([channel, ofChannel]) => ({
      channel,
      texts: ofChannel.length,
      alarms: ofChannel.filter(({ score }) => score >= found.threshold).length,
    })),
    replaces: side !== 'rules' && new Set(Object.values(channelThresholds ?? {})).size > 1 ? channelThresholds : null,
  };
}

function countBlocked(texts: readonly Judged[]): number {
  return texts.filter(({ isBlocked }) => isBlocked).length;
}

function tuneChannels(
  texts: readonly Judged[],
  inForce: Readonly<Record<Channel, number>>,
  guarantee: Guarantee,
): Omit<TunedChannels, keyof Basis> {
  const channels = [...groupByChannel(texts)].map(([channel, ofChannel]): ChannelThreshold => {
    const scores = ofChannel.map(({ score }) => score);
    const found = findThreshold(scores, guarantee, 1);
    const before = { threshold: inForce[channel], alarms: countBlocked(ofChannel) };
    return {
      channel,
      texts: scores.length,
      before,
      ...(typeof found === 'string' ? { found: null, reason: found } : { found, reason: null }),
    };
  });
  const chosen = channels.flatMap(({ channel, found }) => (found === null ? [] : [[channel, found.threshold]]));
  if (chosen.length === 0)
    throw new TuningError(
      ['No channel gets a threshold.', ...channels.map(({ channel, reason }) => `  ${channel}: ${reason}`)].join('\n'),
    );
  return {
    schema: 'portcullis.channel-thresholds/1',
    ...guarantee,
    thresholds: { model: Object.fromEntries(chosen) },
    channels,
  };
}

function basisText({ texts, alarms, budget, confidence, upperBound }: BenignThreshold): string {
  return `${alarms} of ${texts} benign texts blocked; on others of the same kind at most ${percent(upperBound)} (budget ${percent(budget)}), ${percent(confidence)} sure`;
}

function foundLines(found: BenignThreshold, before: Before): readonly string[] {
  const { allowedAlarms, textsForOneMore } = found;
  return [
    basisText(found),
    `before: ${before.threshold}, ${before.alarms} blocked`,
    `${allowedAlarms} false positives were allowed; ${allowedAlarms + 1} would take ${textsForOneMore} texts`,
  ];
}

const ONE_FOR_ALL = "one threshold for all channels, in place of the model's own for each";

/** The threshold or thresholds for a terminal. */
export function thresholdText(tuned: TunedThreshold | TunedChannels): string {
  const { side, leftOut } = tuned;
  const whose = side === 'rules' ? 'rules' : side === 'model' ? 'model alone' : 'model, beside the rules as they are';
  const left = [
    ...(leftOut.attacks > 0 ? [`${leftOut.attacks} rows labelled as attacks`] : []),
    ...(leftOut.unanswered > 0 ? [`${leftOut.unanswered} texts on which the model failed`] : []),
  ];
  const lines =
    'channels' in tuned
      ? [
          `Thresholds of the ${whose}, by channel`,
          ...tuned.channels.flatMap(({ channel, found, before, texts, reason }) => [
            `  ${channel}: ${found?.threshold ?? `${before.threshold}, unchanged`}`,
            ...(found === null
              ? [`${before.alarms} of ${texts} benign texts blocked`, reason]
              : foundLines(found, before)
            ).map((line) => `    ${line}`),
          ]),
        ]
      : [
          `Threshold of the ${whose}: ${tuned.threshold}`,
          ...foundLines(tuned, tuned.before).map((line) => `  ${line}`),
          ...tuned.byChannel.map((of) => `  ${of.channel}: ${of.alarms} of ${of.texts} blocked`),
          ...(tuned.replaces === null
            ? []
            : [`  ${ONE_FOR_ALL}; for one per channel, name the channel of each text (--channel-field)`]),
        ];
  return `${[...lines, ...(left.length > 0 ? [`  left out: ${left.join(', ')}`] : [])].join('\n')}\n`;
}

/**
 * An overlay file (YAML) with the threshold or thresholds. For `both` it also pins the rules' threshold, which the guarantee rests on.
 * @param date `YYYY-MM-DD`, for the comment at its head
 */
export function thresholdOverlay(tuned: TunedThreshold | TunedChannels, date: string): string {
  const { side, rulesVersion, rulesThreshold, modelVersion } = tuned;
  const versions = `rules ${rulesVersion}${side === 'rules' ? '' : `, model ${modelVersion}`}`;
  const comments =
    'channels' in tuned
      ? tuned.channels.map(({ channel, found, reason }) =>
          found === null ? `${channel}: unchanged. ${reason}` : `${channel}: ${basisText(found)}`,
        )
      : [basisText(tuned), ...(tuned.replaces === null ? [] : [ONE_FOR_ALL])];
  const lines = [
    ...[`portcullis tune --benign-only --side ${side}, ${date}, ${versions}`, ...comments].map((line) => `# ${line}`),
    ...(side === 'both' ? [`threshold: ${rulesThreshold}`] : []),
    ...('channels' in tuned
      ? [
          'model_threshold:',
          ...Object.entries(tuned.thresholds.model).map(([channel, value]) => `  ${channel}: ${value.toFixed(6)}`),
        ]
      : [`${side === 'rules' ? 'threshold' : 'model_threshold'}: ${tuned.threshold.toFixed(6)}`]),
  ];
  return `${lines.join('\n')}\n`;
}
