import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/evaluation/metrics/figures.js';
import { sourceAverages } from '../../src/evaluation/metrics/source-averages.js';

const AT = 0.5;
const outcomes = (attacks: readonly number[], benign: readonly number[]): readonly Outcome[] =>
  [attacks, benign].flatMap((scores, i) =>
    scores.map((score) => ({ score, isAttack: i === 0, isBlocked: score >= AT })),
  );
const repeated = (score: number, n: number): readonly number[] => new Array(n).fill(score);

describe('averages over sources', () => {
  it('a source with few texts of a kind does not count for that kind', () => {
    const averages = sourceAverages(
      new Map([
        ['enough', outcomes(repeated(0.9, 20), repeated(0.1, 20))],
        ['few benign', outcomes(repeated(0.1, 20), repeated(0.9, 19))],
      ]),
    );
    expect(averages).toMatchObject({ recall: 0.5, falsePositiveRate: 0, sourcesWithAttacks: 2, sourcesWithBenign: 1 });
  });

  it('count each source once, however large it is, and leave out sources without texts of the kind', () => {
    const averages = sourceAverages(
      new Map([
        ['large', outcomes(repeated(0.9, 98), [0.1, 0.1])],
        ['small', outcomes([0.2, 0.2], [0.9, 0.1])],
        ['attacks alone', outcomes([0.9, 0.2], [])],
      ]),
      1,
    );
    expect(averages).toMatchObject({
      recall: 0.5,
      falsePositiveRate: 0.25,
      sourcesWithAttacks: 3,
      sourcesWithBenign: 2,
    });
  });

  it('the lowest threshold within the budget is chosen, by the mean of the rates', () => {
    const { chosen } = sourceAverages(
      new Map([
        ['a', outcomes([0.4, 0.8], [0.3, ...repeated(0.1, 9)])],
        ['b', outcomes([0.4, 0.9], repeated(0.1, 10))],
      ]),
      1,
    );
    // At 0.3 one of ten is blocked in one of two sources: 5 % on average.
    expect(chosen['0.05']).toMatchObject({ threshold: 0.3, onAllSources: { recall: 1, falsePositiveRate: 0.05 } });
    expect(chosen['0.02']).toMatchObject({ threshold: 0.4, onAllSources: { recall: 1, falsePositiveRate: 0 } });
  });

  it('a threshold that one source forces does not hold on that source when it is left out', () => {
    const noisy = outcomes([0.95], repeated(0.7, 10));
    const { chosen } = sourceAverages(
      new Map([
        ['quiet', outcomes([0.6, 0.95], repeated(0.1, 10))],
        ['also quiet', outcomes([0.6, 0.95], repeated(0.1, 10))],
        ['noisy', noisy],
      ]),
      1,
    );
    const { threshold, onAllSources, leftOut, leftOutThresholds } = chosen['0.01'];
    expect(threshold).toBe(0.95);
    expect(onAllSources).toEqual({ recall: (0.5 + 0.5 + 1) / 3, falsePositiveRate: 0 });
    // Chosen without the noisy source the threshold is 0.6, at which all of the noisy source is blocked.
    expect(leftOutThresholds).toEqual([0.6, 0.95]);
    expect(leftOut.falsePositiveRate).toBeCloseTo(1 / 3);
  });

  it('there is nothing to leave out of a single source, and no threshold where the highest score is benign', () => {
    const { chosen } = sourceAverages(new Map([['one', outcomes([0.5], [1, 1])]]), 1);
    expect(chosen['0.01']).toEqual({
      threshold: null,
      onAllSources: { recall: null, falsePositiveRate: null },
      leftOut: { recall: null, falsePositiveRate: null },
      leftOutThresholds: null,
    });
  });
});
