import type { Outcome } from './figures.js';

/** Budgets for the mean false-positive rate that a threshold is chosen for: the operating points, and two wider ones. */
export const SOURCE_BUDGETS = ['0.003', '0.01', '0.02', '0.025', '0.05'] as const;
type SourceBudget = (typeof SOURCE_BUDGETS)[number];

/** Means over sources, each counting once however many texts it has. Null where no source has texts of the kind. */
export interface SourceMeans {
  readonly recall: number | null;
  readonly falsePositiveRate: number | null;
}

/** A threshold chosen for a budget, on all sources and with each source left out in turn. */
export interface ChosenThreshold {
  /** The lowest score that keeps the budget on all sources; null where none does. */
  readonly threshold: number | null;
  readonly onAllSources: SourceMeans;
  /** Each source measured at the threshold that the other sources gave. */
  readonly leftOut: SourceMeans;
  /** The lowest and highest of those thresholds; null where some choice found none. */
  readonly leftOutThresholds: readonly [number, number] | null;
}

/** Figures averaged over sources: a large source doesn't drown a small one, and one easy source doesn't carry the figure. */
export interface SourceAverages extends SourceMeans {
  /** Number of sources with attacks, and of those with benign texts. */
  readonly sourcesWithAttacks: number;
  readonly sourcesWithBenign: number;
  /** By budget of the mean false-positive rate. */
  readonly chosen: Readonly<Record<SourceBudget, ChosenThreshold>>;
}

/** A source's attacks, or its benign texts, count from this number on: one false positive among 18 texts is noise. */
export const MIN_SOURCE_TEXTS = 20;

/** A source's scores, each ascending. */
interface SourceScores {
  readonly attacks: readonly number[];
  readonly benign: readonly number[];
}

const ascending = (a: number, b: number): number => a - b;

/** Index of the first score that holds; so does every higher one. */
function firstWhere(scores: readonly number[], holds: (score: number) => boolean): number {
  let [low, high] = [0, scores.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(scores[middle] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function blockedShare(scores: readonly number[], threshold: number): number | null {
  const allowed = firstWhere(scores, (score) => score >= threshold);
  return scores.length === 0 ? null : (scores.length - allowed) / scores.length;
}

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

function meansAt(sources: readonly SourceScores[], threshold: number): SourceMeans {
  return {
    recall: mean(sources.map(({ attacks }) => blockedShare(attacks, threshold))),
    falsePositiveRate: mean(sources.map(({ benign }) => blockedShare(benign, threshold))),
  };
}

/** Some of the sources, with every score that a threshold may be put at, ascending. */
interface SourceSet {
  readonly sources: readonly SourceScores[];
  readonly candidates: readonly number[];
}

function sourceSet(sources: readonly SourceScores[]): SourceSet {
  const scores = new Set(sources.flatMap(({ attacks, benign }) => [...attacks, ...benign]));
  return { sources, candidates: [...scores].sort(ascending) };
}

/** The lowest score that keeps the mean false-positive rate within the budget; null where none does. */
function chooseThreshold({ sources, candidates }: SourceSet, budget: number): number | null {
  const isWithin = (threshold: number): boolean =>
    (meansAt(sources, threshold).falsePositiveRate ?? 0) <= budget + 1e-12;
  // The rate falls as the threshold rises.
  return candidates[firstWhere(candidates, isWithin)] ?? null;
}

const NO_MEANS: SourceMeans = { recall: null, falsePositiveRate: null };

/** `others[i]`: all sources but the one at `i`. */
function chooseFor(all: SourceSet, others: readonly SourceSet[], budget: number): ChosenThreshold {
  const threshold = chooseThreshold(all, budget);
  const found = others.map((set) => chooseThreshold(set, budget)).filter((one) => one !== null);
  const isWhole = all.sources.length > 1 && found.length === others.length;
  const measured = (kind: 'attacks' | 'benign'): number | null =>
    mean(all.sources.map((source, i) => blockedShare(source[kind], found[i] as number)));
  return {
    threshold,
    onAllSources: threshold === null ? NO_MEANS : meansAt(all.sources, threshold),
    leftOut: isWhole ? { recall: measured('attacks'), falsePositiveRate: measured('benign') } : NO_MEANS,
    leftOutThresholds: isWhole ? [Math.min(...found), Math.max(...found)] : null,
  };
}

/**
 * Averages over sources at the thresholds in force, and at a threshold chosen for each budget. The check: a threshold
 * chosen on all sources but one is measured on that one, and the mean is taken over all of them. Where it differs from
 * the figure on all sources, the threshold fits the sources it was chosen on and would not hold on a new one. A source with
 * fewer than `minTexts` attacks (benign texts) counts for neither the recall (the false-positive rate).
 */
export function sourceAverages(
  bySource: ReadonlyMap<string, readonly Outcome[]>,
  minTexts: number = MIN_SOURCE_TEXTS,
): SourceAverages {
  const all = [...bySource.values()].map((outcomes) => {
    const kept = (wanted: boolean): readonly Outcome[] => {
      const kind = outcomes.filter(({ isAttack }) => isAttack === wanted);
      return kind.length < minTexts ? [] : kind;
    };
    return { attacks: kept(true), benign: kept(false) };
  });
  const scores = (outcomes: readonly Outcome[]) => outcomes.map(({ score }) => score).sort(ascending);
  const sources = all.map(({ attacks, benign }) => ({ attacks: scores(attacks), benign: scores(benign) }));
  const whole = sourceSet(sources);
  const others = sources.map((_, i) => sourceSet(sources.toSpliced(i, 1)));
  const blocked = (outcomes: readonly Outcome[]) =>
    outcomes.length === 0 ? null : outcomes.filter(({ isBlocked }) => isBlocked).length / outcomes.length;
  return {
    recall: mean(all.map(({ attacks }) => blocked(attacks))),
    falsePositiveRate: mean(all.map(({ benign }) => blocked(benign))),
    sourcesWithAttacks: sources.filter(({ attacks }) => attacks.length > 0).length,
    sourcesWithBenign: sources.filter(({ benign }) => benign.length > 0).length,
    chosen: Object.fromEntries(
      SOURCE_BUDGETS.map((budget) => [budget, chooseFor(whole, others, Number(budget))]),
    ) as SourceAverages['chosen'],
  };
}
