import { seededRandom } from './seeded-random.js';
import type { Interval } from './wilson.js';

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

/** Per family: attacks, attacks found more, benign texts, alarms more. */
type Tally = [attacks: number, found: number, benign: number, alarms: number];

/**
 * What a change brings, with percentile intervals of whole families drawn with replacement: near duplicates count as
 * one piece of evidence. The same texts stand on both sides, so that only texts that changed carry weight.
 */
export const groupBootstrap = (texts: readonly BeforeAfter[], rounds: number, seed: number): Gains => {
  const byFamily = new Map<number, Tally>();
  for (const { isAttack, family, before, after } of texts) {
    const tally = byFamily.get(family) ?? [0, 0, 0, 0];
    tally[isAttack ? 0 : 2] += 1;
    tally[isAttack ? 1 : 3] += Number(after) - Number(before);
    byFamily.set(family, tally);
  }
  const tallies = [...byFamily.values()];
  const shares = (drawn: Iterable<Tally>): readonly [number, number] => {
    let [attacks, found, benign, alarms] = [0, 0, 0, 0];
    for (const tally of drawn) {
      attacks += tally[0];
      found += tally[1];
      benign += tally[2];
      alarms += tally[3];
    }
    return [attacks === 0 ? 0 : found / attacks, benign === 0 ? 0 : alarms / benign];
  };
  const random = seededRandom(seed);
  const recalls: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < rounds && tallies.length > 0; round++) {
    const [recall, rate] = shares(tallies.map(() => tallies[Math.floor(random() * tallies.length)] as Tally));
    recalls.push(recall);
    rates.push(rate);
  }
  const [recall, rate] = shares(tallies);
  return {
    recall: { value: recall, interval: middle95(recalls, recall) },
    falsePositiveRate: { value: rate, interval: middle95(rates, rate) },
  };
};

const middle95 = (values: readonly number[], otherwise: number): Interval => {
  if (values.length === 0) return [otherwise, otherwise];
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] as number;
  return [at(0.025), at(0.975)];
};
