import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { calibrate, tokenConfidence } from '../../../src/engine/model/calibration.js';
import { densestSpan } from '../../../src/engine/model/window-classifier.js';
import { planWindows, spread } from '../../../src/engine/model/windows.js';

describe('planWindows', () => {
  it.each([
    [0, [[0, 0]]],
    [5, [[0, 5]]],
    [10, [[0, 10]]],
    [
      11,
      [
        [0, 10],
        [1, 11],
      ],
    ],
    [
      16,
      [
        [0, 10],
        [6, 16],
      ],
    ],
    [
      17,
      [
        [0, 10],
        [6, 16],
        [7, 17],
      ],
    ],
    [
      30,
      [
        [0, 10],
        [6, 16],
        [12, 22],
        [18, 28],
        [20, 30],
      ],
    ],
  ] as const)('of %d tokens, 10 a window, one every 6', (tokens, windows) => {
    expect(planWindows(tokens, 10, 6).map(({ start, end }) => [start, end])).toEqual(windows);
  });

  it('covers every token, without gaps, each window full', () => {
    fc.assert(
      fc.property(
        fc.nat(5000),
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 300 }),
        (n, content, step) => {
          const windows = planWindows(n, content, Math.min(step, content));
          expect(windows[0]?.start).toBe(0);
          expect(windows.at(-1)?.end).toBe(n);
          windows.forEach((window, index) => {
            if (index > 0) expect(window.start).toBeLessThanOrEqual(windows[index - 1]?.end as number);
            expect(window.end - window.start).toBe(Math.min(n, content));
          });
        },
      ),
    );
  });
});

describe('spread', () => {
  it.each([
    [3, 5, [0, 1, 2]],
    [10, 4, [0, 3, 6, 9]],
    [10, 2, [0, 9]],
    [10, 1, [0]],
    [10, 0, []],
    [0, 3, []],
  ] as const)('of %d, at most %d', (length, max, indices) => {
    expect(spread(length, max)).toEqual(indices);
  });

  it('never gives an index twice', () => {
    fc.assert(
      fc.property(fc.nat(500), fc.nat(500), (length, max) => {
        const indices = spread(length, max);
        expect(new Set(indices).size).toBe(Math.min(length, max));
      }),
    );
  });
});

describe('calibrate', () => {
  const plain = { kind: 'platt-windows', scale: 1, bias: 0, per_window: 0 } as const;
  it.each([
    [0, 1, false, 0, plain, 0.5],
    [2, 1, false, 0, plain, 1 / (1 + Math.exp(-2))],
    [2, 1, false, 0, { ...plain, scale: 0.5, bias: -1 }, 0.5],
    [1, Math.E, false, 0, { ...plain, per_window: 1 }, 0.5],
    [1, Math.E, false, 9, { ...plain, per_window: 1 }, 0.5],
    [3, Math.E, false, 1, { ...plain, per_window: 1, sure: 4 }, 0.5],
    [6, Math.E, false, -2, { ...plain, per_window: 1, sure: 4 }, 0.5],
    [0, Math.E, false, 4, { ...plain, per_window: 1, sure: 4 }, 0.5],
    [0, Math.E, false, 5, { ...plain, per_window: 1, sure: 4 }, 0.5],
    [0, 1, false, -9, { ...plain, per_window: 1, sure: 4 }, 0.5],
    [1.5, 1, true, 0, plain, 0.5],
    [2, 1, true, 0, { ...plain, derived: -2 }, 0.5],
    [1e9, 1, false, 0, plain, 1],
    [-1e9, 1, false, 0, plain, 0],
  ] as const)(
    'logit %d over %d windows, derived %s, tokenConfidence %d',
    (logit, windows, derived, sure, calibration, probability) => {
      const place = { windows, derived, tokenConfidence: sure };
      expect(calibrate(logit, place, calibration)).toBeCloseTo(probability, 12);
    },
  );
});

describe('tokenConfidence', () => {
  it.each([
    [undefined, 0],
    [[9, 9], 0],
    [[9, 1, 3, 9], 2],
    [[99, ...new Array(20).fill(-5), 1, 2, 3, 4, 5, 6, 7, 8, 99], 4.5],
    [[99, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, 99], 4.5],
  ])('%o', (tokenLogits, expected) => {
    expect(tokenConfidence(tokenLogits)).toBe(expected);
    // The task's three tokens count nothing.
    expect(tokenConfidence(tokenLogits && [...tokenLogits, 50, 60, 70], 3)).toBe(expected);
  });
});

describe('densestSpan', () => {
  it.each([
    [[], undefined],
    [[-1, -2, 0], undefined],
    [[-1, 2, -1], { start: 1, end: 2 }],
    [[1, -1, 1, -9, -9, -9, -9, -9, -9, -9, 1.5], { start: 0, end: 3 }],
    [[1, -9, -9, -9, -9, -9, -9, -9, 3, -1, 2, -5], { start: 8, end: 11 }],
  ] as const)('%o', (logits, stretch) => {
    expect(densestSpan(logits)).toEqual(stretch);
  });
});
