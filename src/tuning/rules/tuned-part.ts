import { countFigures, type Figures } from '../../evaluation/metrics/figures.js';
import { type Gains, groupBootstrap } from '../../evaluation/metrics/group-bootstrap.js';
import type { FamilyText } from '../../evaluation/rows/split-rows.js';

/** The figures of one part of the texts before and after the changes, both of real scans. */
export interface TunedPart {
  readonly attacks: number;
  readonly benign: number;
  readonly families: number;
  readonly before: Figures;
  readonly after: Figures;
  readonly gains: Gains;
}

/** How often families are drawn for the intervals. */
const rounds = 1_000;

/** The figures of a part from its texts' verdicts before and after. */
export const tunedPart = (
  rows: readonly FamilyText[],
  before: readonly boolean[],
  after: readonly boolean[],
): TunedPart => {
  const judged = rows.map(({ label, family }, i) => ({
    isAttack: label === 'injection',
    family,
    before: before[i] as boolean,
    after: after[i] as boolean,
  }));
  const figures = (blocked: readonly boolean[]): Figures =>
    countFigures(judged.map(({ isAttack }, i) => ({ isAttack, score: 0, isBlocked: blocked[i] as boolean })));
  const attacks = judged.filter(({ isAttack }) => isAttack).length;
  return {
    attacks,
    benign: judged.length - attacks,
    families: new Set(rows.map(({ family }) => family)).size,
    before: figures(before),
    after: figures(after),
    gains: groupBootstrap(judged, rounds, 1),
  };
};

/** True where a part keeps the budget (0..1) after the changes, or at least has no more alarms than before them, and is better for it. */
export const isBetter = ({ before, after }: TunedPart, maxFpr: number): boolean => {
  const [rateBefore, rateAfter] = [before.falsePositiveRate ?? 0, after.falsePositiveRate ?? 0];
  const [recallBefore, recallAfter] = [before.recall ?? 0, after.recall ?? 0];
  return rateAfter <= Math.max(maxFpr, rateBefore) && (recallAfter > recallBefore || rateAfter < rateBefore);
};
