import type { RankingFigures } from '../metrics/figures.js';
import type { Interval } from '../metrics/wilson.js';
import type { Evaluation } from './evaluation.js';
import { number3, percent, percentInterval } from './figure-text.js';
import type { Side } from './sides.js';

/** One line of the table of figures: a name, then a cell for each side. */
export interface FigureRow {
  readonly name: string;
  readonly cells: readonly { readonly value: string; readonly interval: string }[];
}

const plainInterval = (interval: Interval | null): string =>
  interval ? `${interval[0].toFixed(3)} to ${interval[1].toFixed(3)}` : '';
const shares = (value: number | null, interval: Interval | null): FigureRow['cells'][number] => ({
  value: percent(value),
  interval: interval ? percentInterval(interval) : '',
});
const plain = (value: number | null, interval: Interval | null): FigureRow['cells'][number] => ({
  value: number3(value),
  interval: plainInterval(interval),
});

// Where no threshold keeps the budget (of both sides: the rules alone raise more alarms) there is no recall to state.
const recallAt = ({ value, interval, threshold }: RankingFigures['recallAt']['0.01']): FigureRow['cells'][number] =>
  threshold === null ? { value: '-', interval: '' } : shares(value, interval);

const lines: readonly {
  readonly name: string;
  readonly of: (figures: RankingFigures) => FigureRow['cells'][number];
}[] = [
  { name: 'recall', of: (f) => shares(f.recall, f.recallInterval) },
  { name: 'false positives', of: (f) => shares(f.falsePositiveRate, f.falsePositiveRateInterval) },
  { name: 'precision', of: (f) => shares(f.precision, f.precisionInterval) },
  { name: 'F1', of: (f) => plain(f.f1, f.f1Interval) },
  { name: 'AUC', of: (f) => plain(f.auc, f.aucInterval) },
  { name: 'average precision', of: (f) => plain(f.averagePrecision, f.averagePrecisionInterval) },
  { name: 'recall at 0.5 % FP', of: (f) => recallAt(f.recallAt['0.005']) },
  { name: 'recall at 1 % FP', of: (f) => recallAt(f.recallAt['0.01']) },
  { name: 'recall at 2 % FP', of: (f) => recallAt(f.recallAt['0.02']) },
  { name: 'calibration error', of: (f) => plain(f.calibrationError, null) },
];

/** The table of figures and the sides that its columns are. */
export const figureRows = ({
  sides,
}: Evaluation): { readonly sides: readonly Side[]; readonly rows: readonly FigureRow[] } => {
  const known = (['rules', 'model', 'both'] as const).filter((side) => sides[side] !== undefined);
  return {
    sides: known,
    rows: lines.map(({ name, of }) => ({ name, cells: known.map((side) => of(sides[side] as RankingFigures)) })),
  };
};
