import { areaUnderRoc, averagePrecision, curveOf, type Judged, recallAt, scoreSteps } from './ranking.js';
import { seededRandom } from './seeded-random.js';
import type { Interval } from './wilson.js';

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

const middle95 = (values: readonly number[]): Interval | null => {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] as number;
  return [at(0.025), at(0.975)];
};

/** Texts drawn with replacement, `rounds` times. O(rounds * n): scores are sorted once. */
export const bootstrap = (judged: readonly Judged[], request: Request): BootstrapIntervals => {
  const { isBlocked, budgets, rounds, seed } = request;
  const steps = scoreSteps(judged);
  const indexOfScore = new Map(steps.map(({ score }, index) => [score, index]));
  const place = judged.map(({ score }) => indexOfScore.get(score) as number);
  const random = seededRandom(seed);
  const gathered = { auc: [] as number[], averagePrecision: [] as number[], f1: [] as number[] };
  const recalls: number[][] = budgets.map(() => []);
  for (let round = 0; round < rounds && judged.length > 0; round++) {
    const drawn = steps.map(({ score }) => ({ score, attacks: 0, benign: 0 }));
    let [hits, alarms, misses] = [0, 0, 0];
    for (let i = 0; i < judged.length; i++) {
      const pick = Math.floor(random() * judged.length);
      const step = drawn[place[pick] as number] as { attacks: number; benign: number };
      const isAttack = (judged[pick] as Judged).isAttack;
      if (isAttack) step.attacks += 1;
      else step.benign += 1;
      if (isBlocked[pick] && isAttack) hits += 1;
      else if (isBlocked[pick]) alarms += 1;
      else if (isAttack) misses += 1;
    }
    const curve = curveOf(drawn);
    const keep = (into: number[], value: number | null): void => void (value !== null && into.push(value));
    keep(gathered.auc, areaUnderRoc(curve));
    keep(gathered.averagePrecision, averagePrecision(curve));
    keep(gathered.f1, hits + alarms + misses === 0 ? null : (2 * hits) / (2 * hits + alarms + misses));
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
};
