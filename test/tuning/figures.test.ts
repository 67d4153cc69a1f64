import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { wilson } from '../../src/evaluation/metrics/binomial.js';
import { rankingFigures } from '../../src/evaluation/metrics/figures.js';

interface Reference {
  readonly name: string;
  readonly scores: readonly number[];
  readonly truth: readonly number[];
  readonly threshold: number;
  readonly recallAt: Readonly<Record<'0.005' | '0.01' | '0.02', number>>;
}

const FIGURES = [
  'recall',
  'falsePositiveRate',
  'precision',
  'f1',
  'auc',
  'averagePrecision',
  'brier',
  'calibrationError',
] as const;
const reference = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures', 'reference-figures.json'), 'utf8')) as {
  readonly cases: readonly (Reference & Readonly<Record<(typeof FIGURES)[number], number>>)[];
};

const outcomes = ({ scores, truth, threshold }: Reference) =>
  scores.map((score, i) => ({ score, isAttack: truth[i] === 1, isBlocked: score >= threshold }));

describe('figures agree with scikit-learn to 1e-9', () => {
  it('has the cases', () => expect(reference.cases).toHaveLength(6));

  it.each(reference.cases)('$name', (expected) => {
    const found = rankingFigures(outcomes(expected), { rounds: 20, seed: 1 });
    for (const figure of FIGURES)
      expect(Math.abs((found[figure] as number) - expected[figure]), figure).toBeLessThan(1e-9);
    for (const budget of ['0.005', '0.01', '0.02'] as const)
      expect(Math.abs((found.recallAt[budget].value as number) - expected.recallAt[budget]), budget).toBeLessThan(1e-9);
  });

  it('the bootstrap intervals hold the figure, and are the same in each run', () => {
    const [first] = reference.cases;
    const once = rankingFigures(outcomes(first!));
    expect(once).toEqual(rankingFigures(outcomes(first!)));
    expect(once.aucInterval![0]).toBeLessThan(once.auc!);
    expect(once.aucInterval![1]).toBeGreaterThan(once.auc!);
  });

  it('says null where a class is missing', () => {
    const found = rankingFigures([{ score: 0.2, isAttack: false, isBlocked: false }]);
    expect(found).toMatchObject({
      recall: null,
      recallInterval: null,
      auc: null,
      averagePrecision: null,
      falsePositiveRate: 0,
    });
  });
});

describe("Wilson's interval", () => {
  // Newcombe (1998), table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('%i of %i', (hits, n, low, high) => {
    const [from, to] = wilson(hits, n);
    expect(from).toBeCloseTo(low, 4);
    expect(to).toBeCloseTo(high, 4);
  });
});
