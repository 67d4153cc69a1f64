import type { Interval } from './binomial.js';
import { areaUnderRoc, averagePrecision, type Judged, recallAt, scoreSteps, traceCurve } from './ranking.js';

/** Percentile intervals (95 %) of the figures that have no closed form. Null where the figure itself is. */
export interface BootstrapIntervals {
  readonly auc: Interval | null;
  readonly averagePrecision: Interval | null;
  readonly f1: Interval | null;
  /** In the order of the budgets given. */
  readonly recallAt: readonly (Interval | null)[];
}

interface Request {
  /** Texts at or above it are blocked, for F1. */
  readonly isBlocked: readonly boolean[];
  readonly budgets: readonly number[];
  readonly rounds: number;
  readonly seed: number;
}

function middle95(values: readonly number[]): Interval | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] as number;
  return [at(0.025), at(0.975)];
}

/** Texts drawn with replacement, `rounds` times. O(rounds * n): scores are sorted once. */
export function bootstrap(judged: readonly Judged[], request: Request): BootstrapIntervals {
  const { isBlocked, budgets, rounds, seed } = request;
  const steps = scoreSteps(judged);
  const indexOfScore = new Map(steps.map(({ score }, index) => [score, index]));
  const place = judged.map(({ score }) => indexOfScore.get(score) as number);
  const random = seededRandom(seed);
  const gathered = { auc: [] as number[], averagePrecision: [] as number[], f1: [] as number[] };
  const recalls: number[][] = budgets.map(() => []);
  for (let round = 0; round < rounds && judged.length > 0; round++) {
    const drawn = steps.map(({ score }) => ({ score, attacks: 0, benign: 0 }));
    let [hits, falsePositives, misses] = [0, 0, 0];
    for (let i = 0; i < judged.length; i++) {
      const pick = Math.floor(random() * judged.length);
      const step = drawn[place[pick] as number] as { attacks: number; benign: number };
      const isAttack = (judged[pick] as Judged).isAttack;
      if (isAttack) step.attacks += 1;
      else step.benign += 1;
      if (isBlocked[pick] && isAttack) hits += 1;
      else if (isBlocked[pick]) falsePositives += 1;
      else if (isAttack) misses += 1;
    }
    const curve = traceCurve(drawn);
    const keep = (into: number[], value: number | null): void => void (value !== null && into.push(value));
    keep(gathered.auc, areaUnderRoc(curve));
    keep(gathered.averagePrecision, averagePrecision(curve));
    keep(gathered.f1, hits + falsePositives + misses === 0 ? null : (2 * hits) / (2 * hits + falsePositives + misses));
    budgets.forEach((budget, i) => {
      keep(recalls[i] as number[], recallAt(curve, budget)?.recall ?? null);
    });
  }
  return {
    auc: middle95(gathered.auc),
    averagePrecision: middle95(gathered.averagePrecision),
    f1: middle95(gathered.f1),
    recallAt: recalls.map(middle95),
  };
}

/** A text's verdicts before and after a change. */
export interface BeforeAfter {
  readonly isAttack: boolean;
  readonly family: number;
  readonly before: boolean;
  readonly after: boolean;
}

/** A difference of shares, after less before, with its 95 % interval. */
export interface Gain {
  readonly value: number;
  readonly interval: Interval;
}

export interface Gains {
  readonly recall: Gain;
  readonly falsePositiveRate: Gain;
}

/** Counts of one family: attacks, change in attacks found, benign texts, change in false positives. */
type FamilyCounts = [attacks: number, found: number, benign: number, falsePositives: number];

/**
 * Estimates the effect of a change, with percentile intervals of whole families drawn with replacement: near duplicates count as
 * one piece of evidence. The same texts stand on both sides, so that only texts that changed carry weight.
 */
export function groupBootstrap(texts: readonly BeforeAfter[], rounds: number, seed: number): Gains {
  const byFamily = new Map<number, FamilyCounts>();
  for (const { isAttack, family, before, after } of texts) {
    const counts = byFamily.get(family) ?? [0, 0, 0, 0];
    counts[isAttack ? 0 : 2] += 1;
    counts[isAttack ? 1 : 3] += Number(after) - Number(before);
    byFamily.set(family, counts);
  }
  const families = [...byFamily.values()];
  const shares = (drawn: Iterable<FamilyCounts>): readonly [number, number] => {
    let [attacks, found, benign, falsePositives] = [0, 0, 0, 0];
    for (const counts of drawn) {
      attacks += counts[0];
      found += counts[1];
      benign += counts[2];
      falsePositives += counts[3];
    }
    return [attacks === 0 ? 0 : found / attacks, benign === 0 ? 0 : falsePositives / benign];
  };
  const random = seededRandom(seed);
  const recalls: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < rounds && families.length > 0; round++) {
    const [recall, rate] = shares(families.map(() => families[Math.floor(random() * families.length)] as FamilyCounts));
    recalls.push(recall);
    rates.push(rate);
  }
  const [recall, rate] = shares(families);
  return {
    recall: { value: recall, interval: middle95(recalls) ?? [recall, recall] },
    falsePositiveRate: { value: rate, interval: middle95(rates) ?? [rate, rate] },
  };
}

/** Numbers in [0, 1) that are the same for the same seed (mulberry32): a resampling can be repeated. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
