/** A score with its truth. */
export interface Judged {
  /** Any number; higher is more suspicious. */
  readonly score: number;
  readonly isAttack: boolean;
}

/** Counts of blocked texts when blocking at or above `threshold`. */
export interface CurvePoint {
  /** `Infinity` for the first point, where nothing is blocked. */
  readonly threshold: number;
  readonly truePositives: number;
  readonly falsePositives: number;
}

/** The curve that all figures of ranking are read from: one point a distinct score, from nothing blocked to everything. */
export interface Curve {
  readonly attacks: number;
  readonly benign: number;
  readonly points: readonly CurvePoint[];
}

/** Counts of one distinct score. */
export interface ScoreStep {
  readonly score: number;
  readonly attacks: number;
  readonly benign: number;
}

/** Adds up steps that come highest score first. */
export function traceCurve(steps: Iterable<ScoreStep>): Curve {
  let truePositives = 0;
  let falsePositives = 0;
  const points: CurvePoint[] = [{ threshold: Number.POSITIVE_INFINITY, truePositives, falsePositives }];
  for (const { score, attacks, benign } of steps) {
    if (attacks + benign === 0) continue;
    truePositives += attacks;
    falsePositives += benign;
    points.push({ threshold: score, truePositives, falsePositives });
  }
  return { attacks: truePositives, benign: falsePositives, points };
}

/** Distinct scores, highest first. O(n log n). */
export function scoreSteps(judged: readonly Judged[]): readonly ScoreStep[] {
  const steps = new Map<number, { score: number; attacks: number; benign: number }>();
  for (const { score, isAttack } of judged) {
    const step = steps.get(score) ?? { score, attacks: 0, benign: 0 };
    if (isAttack) step.attacks += 1;
    else step.benign += 1;
    steps.set(score, step);
  }
  return [...steps.values()].sort((a, b) => b.score - a.score);
}

/** Area under the ROC curve, ties counted half; null where a class is missing. Agrees with scikit-learn's `roc_auc_score`. */
export function areaUnderRoc({ attacks, benign, points }: Curve): number | null {
  if (attacks === 0 || benign === 0) return null;
  let doubled = 0;
  for (let i = 1; i < points.length; i++) {
    const before = points[i - 1] as CurvePoint;
    const here = points[i] as CurvePoint;
    doubled += (here.falsePositives - before.falsePositives) * (here.truePositives + before.truePositives);
  }
  return doubled / (2 * attacks * benign);
}

/** Average precision, the step-wise sum (no interpolation); null without attacks. Agrees with `average_precision_score`. */
export function averagePrecision({ attacks, points }: Curve): number | null {
  if (attacks === 0) return null;
  let sum = 0;
  for (let i = 1; i < points.length; i++) {
    const { truePositives, falsePositives } = points[i] as CurvePoint;
    const gained = truePositives - (points[i - 1] as CurvePoint).truePositives;
    if (gained > 0) sum += (gained / attacks) * (truePositives / (truePositives + falsePositives));
  }
  return sum;
}

/** The best recall with at most `budget` (0..1) of the benign texts blocked, and its threshold; null where a class is missing. */
export function recallAt(
  { attacks, benign, points }: Curve,
  budget: number,
): { readonly recall: number; readonly threshold: number } | null {
  if (attacks === 0 || benign === 0) return null;
  const allowed = Math.floor(budget * benign + 1e-9);
  const point = points.findLast(({ falsePositives }) => falsePositives <= allowed) as CurvePoint;
  return { recall: point.truePositives / attacks, threshold: point.threshold };
}
