import type { Judged } from './ranking.js';

export interface ReliabilityBin {
  readonly n: number;
  /** Mean score in the bin; 0 where it is empty. */
  readonly meanScore: number;
  /** Share of attacks in the bin; 0 where it is empty. */
  readonly attackShare: number;
}

/** Calibration error of scores that claim to be probabilities (0..1). */
export interface CalibrationError {
  /** Expected calibration error: the bins' gaps, weighted by their texts. */
  readonly expected: number;
  /** Mean squared error of the score (Brier). */
  readonly brier: number;
  readonly bins: readonly ReliabilityBin[];
}

const BINS = 10;

/** Measures calibration in equally wide bins; null without texts. Bins as in scikit-learn's `calibration_curve`. */
export function calibrationError(judged: readonly Judged[]): CalibrationError | null {
  if (judged.length === 0) return null;
  const sums = Array.from({ length: BINS }, () => ({ n: 0, score: 0, attacks: 0 }));
  // The same edges as numpy's linspace, so that a score on an edge falls into the same bin.
  const edges = Array.from({ length: BINS + 1 }, (_, i) => (i === BINS ? 1 : i * (1 / BINS)));
  let squares = 0;
  for (const { score, isAttack } of judged) {
    let index = Math.min(BINS - 1, Math.max(0, Math.ceil(score * BINS) - 1));
    while (index > 0 && score <= (edges[index] as number)) index -= 1;
    while (index < BINS - 1 && score > (edges[index + 1] as number)) index += 1;
    const sum = sums[index] as (typeof sums)[number];
    sum.n += 1;
    sum.score += score;
    if (isAttack) sum.attacks += 1;
    squares += (score - (isAttack ? 1 : 0)) ** 2;
  }
  const bins = sums.map(({ n, score, attacks }) => ({
    n,
    meanScore: n === 0 ? 0 : score / n,
    attackShare: n === 0 ? 0 : attacks / n,
  }));
  const gap = (bin: ReliabilityBin): number => Math.abs(bin.meanScore - bin.attackShare);
  return {
    expected: bins.reduce((sum, bin) => sum + gap(bin) * bin.n, 0) / judged.length,
    brier: squares / judged.length,
    bins,
  };
}
