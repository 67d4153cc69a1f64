import { type Interval, wilson } from './binomial.js';
import { bootstrap } from './bootstrap.js';
import { calibrationError } from './calibration.js';
import { areaUnderRoc, averagePrecision, type Judged, recallAt, scoreSteps, traceCurve } from './ranking.js';

/** False-positive budgets that recall is stated at. */
const BUDGETS = ['0.005', '0.01', '0.02'] as const;
type Budget = (typeof BUDGETS)[number];

/** A text's outcome on one side: rules, model or both. */
export interface Outcome extends Judged {
  readonly isBlocked: boolean;
}

/** A figure with its 95 % interval; null where a class it needs is missing. */
export interface Figure {
  readonly value: number | null;
  readonly interval: Interval | null;
}

/** The figures of one group of texts. Shares are 0..1. */
export interface Figures {
  readonly n: number;
  readonly attacks: number;
  readonly benign: number;
  readonly truePositives: number;
  readonly falsePositives: number;
  readonly recall: number | null;
  readonly recallInterval: Interval | null;
  readonly falsePositiveRate: number | null;
  readonly falsePositiveRateInterval: Interval | null;
  readonly precision: number | null;
  readonly precisionInterval: Interval | null;
  readonly f1: number | null;
}

/** The figures of ranking and calibration, for groups large enough to be worth them. */
export interface RankingFigures extends Figures {
  readonly f1Interval: Interval | null;
  readonly auc: number | null;
  readonly aucInterval: Interval | null;
  readonly averagePrecision: number | null;
  readonly averagePrecisionInterval: Interval | null;
  readonly recallAt: Readonly<Record<Budget, Figure & { readonly threshold: number | null }>>;
  /** Expected calibration error in ten equally wide bins; the rules' score makes no claim to be a probability. */
  readonly calibrationError: number | null;
  readonly brier: number | null;
}

function share(hits: number, n: number): number | null {
  return n === 0 ? null : hits / n;
}
function interval(hits: number, n: number): Interval | null {
  return n === 0 ? null : wilson(hits, n);
}

/** Counts and shares at the threshold that decided; intervals are Wilson's. */
export function countFigures(outcomes: readonly Outcome[]): Figures {
  const attacks = outcomes.filter(({ isAttack }) => isAttack).length;
  const benign = outcomes.length - attacks;
  const truePositives = outcomes.filter(({ isAttack, isBlocked }) => isAttack && isBlocked).length;
  const falsePositives = outcomes.filter(({ isAttack, isBlocked }) => !isAttack && isBlocked).length;
  const blocked = truePositives + falsePositives;
  return {
    n: outcomes.length,
    attacks,
    benign,
    truePositives,
    falsePositives,
    recall: share(truePositives, attacks),
    recallInterval: interval(truePositives, attacks),
    falsePositiveRate: share(falsePositives, benign),
    falsePositiveRateInterval: interval(falsePositives, benign),
    precision: share(truePositives, blocked),
    precisionInterval: interval(truePositives, blocked),
    f1: attacks + blocked === 0 ? null : (2 * truePositives) / (attacks + blocked),
  };
}

/** Bootstrap rounds and their seed. */
export interface Resampling {
  readonly rounds: number;
  readonly seed: number;
}

/** All figures. Intervals without a closed form are bootstrap percentiles. */
export function rankingFigures(
  outcomes: readonly Outcome[],
  { rounds, seed }: Resampling = { rounds: 200, seed: 1 },
): RankingFigures {
  const curve = traceCurve(scoreSteps(outcomes));
  const shares = BUDGETS.map(Number);
  const drawn = bootstrap(outcomes, {
    isBlocked: outcomes.map(({ isBlocked }) => isBlocked),
    budgets: shares,
    rounds,
    seed,
  });
  const calibration = calibrationError(outcomes);
  const recalls = BUDGETS.map((budget, i) => {
    const found = recallAt(curve, Number(budget));
    const threshold = found === null || !Number.isFinite(found.threshold) ? null : found.threshold;
    return [budget, { value: found?.recall ?? null, interval: drawn.recallAt[i] ?? null, threshold }] as const;
  });
  return {
    ...countFigures(outcomes),
    f1Interval: drawn.f1,
    auc: areaUnderRoc(curve),
    aucInterval: drawn.auc,
    averagePrecision: averagePrecision(curve),
    averagePrecisionInterval: drawn.averagePrecision,
    recallAt: Object.fromEntries(recalls) as RankingFigures['recallAt'],
    calibrationError: calibration?.expected ?? null,
    brier: calibration?.brier ?? null,
  };
}
