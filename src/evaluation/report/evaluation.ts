import type { Channel } from '../../engine/channel.js';
import type { Span } from '../../engine/span.js';
import { countFigures, type Figures, type RankingFigures, rankingFigures } from '../metrics/figures.js';
import { type SourceAverages, sourceAverages } from '../metrics/source-averages.js';
import { labelWarnings } from '../rows/labelled-text.js';
import type { Scored, ScoredText } from '../scoring/score-texts.js';
import { decidingSide, isBlocked, listOutcomes, listSides, type Side } from './sides.js';

export interface WrongText
  extends Pick<
    ScoredText,
    'id' | 'source' | 'group' | 'language' | 'channel' | 'text' | 'rulesScore' | 'rule' | 'probability'
  > {
  readonly spans: readonly Span[];
}

/** The figures of one part of the texts, by the deciding side. */
export interface PartFigures extends Figures {
  readonly name: string;
}

/** By what figures are given in parts, in the order of reports. */
const PART_KINDS = ['channel', 'source', 'group', 'language', 'length'] as const;
export type PartKind = (typeof PART_KINDS)[number];

/** The parts that there are, in the order of reports. */
export function listParts({ by }: Pick<Evaluation, 'by'>): readonly (readonly [PartKind, readonly PartFigures[]])[] {
  return PART_KINDS.map((kind) => [kind, by[kind]] as const).filter(([, parts]) => parts.length > 0);
}

/** p50, p95 and p99 in milliseconds. */
export interface Latency {
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** A whole evaluation. `--json` writes it; fields are only ever added within schema 1. */
export interface Evaluation {
  readonly schema: 'portcullis.evaluation/1';
  readonly date: string;
  /** Names of the files, without folders. */
  readonly texts: readonly string[];
  readonly rows: {
    readonly judged: number;
    readonly unlabelled: number;
    readonly leftOut: Readonly<Record<string, number>>;
  };
  /** Limits of the labels, as sentences. */
  readonly warnings: readonly string[];
  readonly decidedBy: Side;
  readonly rulesVersion: string;
  readonly rulesThreshold: number;
  readonly modelVersion: string;
  /** For a text whose channel is unknown. */
  readonly modelThreshold: number | null;
  /** For texts of each channel that rows name. */
  readonly modelThresholds: Readonly<Record<string, number>>;
  /** Texts that the model failed on. */
  readonly modelFailures: number;
  /** Of the side that decides. */
  readonly overall: RankingFigures;
  readonly averageOverSources: SourceAverages;
  readonly sides: Readonly<Partial<Record<Side, RankingFigures>>>;
  /** `channel` is empty where no row names one. */
  readonly by: Readonly<Record<PartKind, readonly PartFigures[]>>;
  readonly latency: { readonly rules: Latency; readonly model: Latency | null };
  readonly missed: readonly WrongText[];
  readonly wronglyBlocked: readonly WrongText[];
}

const LENGTHS = [200, 1_000, 5_000, 20_000] as const;
function measureLength({ text }: ScoredText): string {
  const above = LENGTHS.findIndex((most) => text.length <= most);
  if (above === -1) return `over ${LENGTHS.at(-1)}`;
  return `${above === 0 ? 0 : (LENGTHS[above - 1] as number) + 1} to ${LENGTHS[above]}`;
}

function summariseLatency(values: readonly number[]): Latency {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { n: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function wrongText(scored: ScoredText): WrongText {
  const { id, source, group, language, channel, text, rulesScore, rule, probability, hits } = scored;
  const spans = hits.map(({ start, end }) => ({ start, end }));
  return { id, source, group, language, channel, text, rulesScore, rule, probability, spans };
}

export interface EvaluationFacts {
  readonly date: string;
  readonly files: readonly string[];
  readonly leftOut: Readonly<Record<string, number>>;
}

/** Works out every figure. Texts without a label are counted and left out. */
export function evaluate(scored: Scored, facts: EvaluationFacts): Evaluation {
  const judged = scored.texts.filter(({ label }) => label !== undefined);
  const deciding = decidingSide(scored);
  const partsOf = (groups: ReadonlyMap<string, readonly ScoredText[]>): readonly PartFigures[] =>
    [...groups]
      .map(([name, texts]) => ({ name, ...countFigures(listOutcomes(texts, deciding, scored)) }))
      .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const parts = (nameOf: (text: ScoredText) => string) => partsOf(grouped(judged, nameOf));
  const sides = Object.fromEntries(
    listSides(scored).map((side) => [side, rankingFigures(listOutcomes(judged, side, scored))]),
  ) as Partial<Record<Side, RankingFigures>>;
  const bySource = grouped(judged, ({ source }) => source);
  const millis = scored.texts.flatMap(({ modelMillis }) => (modelMillis === null ? [] : [modelMillis]));
  const wrong = (label: 'injection' | 'benign'): readonly WrongText[] =>
    judged
      .filter((text) => text.label === label && isBlocked(text, deciding, scored) === (label === 'benign'))
      .map(wrongText);
  return {
    schema: 'portcullis.evaluation/1',
    date: facts.date,
    texts: facts.files,
    rows: { judged: judged.length, unlabelled: scored.texts.length - judged.length, leftOut: facts.leftOut },
    warnings: labelWarnings(scored.texts),
    decidedBy: deciding,
    rulesVersion: scored.rulesVersion,
    rulesThreshold: scored.rulesThreshold,
    modelVersion: scored.modelVersion,
    modelThreshold: scored.modelThreshold,
    modelThresholds: Object.fromEntries(
      judged.flatMap(({ channel, modelThreshold }) =>
        channel === undefined || modelThreshold === undefined ? [] : [[channel, modelThreshold]],
      ),
    ),
    modelFailures: scored.modelThreshold === null ? 0 : judged.filter(({ probability }) => probability === null).length,
    overall: sides[deciding] as RankingFigures,
    averageOverSources: sourceAverages(
      new Map([...bySource].map(([name, texts]) => [name, listOutcomes(texts, deciding, scored)])),
    ),
    sides,
    by: {
      channel: partsOf(groupByChannel(judged)),
      source: partsOf(bySource),
      group: parts(({ group }) => group),
      language: parts(({ language }) => language),
      length: parts(measureLength),
    },
    latency: {
      rules: summariseLatency(scored.texts.map(({ micros }) => micros / 1000)),
      model: millis.length === 0 ? null : summariseLatency(millis),
    },
    missed: wrong('injection'),
    wronglyBlocked: wrong('benign'),
  };
}

/** Items by channel, in the order of their first; none where no item names one. */
export function groupByChannel<T extends { readonly channel?: Channel | undefined }>(
  items: readonly T[],
): ReadonlyMap<Channel, readonly T[]> {
  return items.some(({ channel }) => channel !== undefined)
    ? grouped(items, ({ channel = 'unknown' }) => channel)
    : new Map();
}

/** Items by name, in the order of their first. */
function grouped<T, Name extends string>(
  items: readonly T[],
  nameOf: (item: T) => Name,
): ReadonlyMap<Name, readonly T[]> {
  const groups = new Map<Name, T[]>();
  for (const item of items) {
    const name = nameOf(item);
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return groups;
}
