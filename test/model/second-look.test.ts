import { describe, expect, it } from 'vitest';
import { lookAgain } from '../../src/engine/model/second-look.js';
import { createWindowClassifier } from '../../src/engine/model/window-classifier.js';
import { manualClock } from '../engine/manual-clock.js';

const LOOK = { tokens: 4, above: 0 };
const IDS = [10, 11, 12, 13, 14, 15, 16, 17];
/** Token logits with the greatest one at `surest`, special tokens included. */
const tokenLogits = (surest: number): readonly number[] => [9, ...IDS.map((_, at) => (at === surest ? 5 : -5)), 9];

describe('lookAgain', () => {
  it.each([
    [0, [10, 11, 12, 13]],
    [3, [11, 12, 13, 14]],
    [4, [12, 13, 14, 15]],
    [7, [14, 15, 16, 17]],
  ])('crops around token %i, inside the window', (surest, expected) => {
    expect(lookAgain(IDS, { logit: 1, tokenLogits: tokenLogits(surest) }, LOOK)).toEqual(expected);
  });

  it('takes the first of equal tokens', () => {
    expect(lookAgain(IDS, { logit: 1, tokenLogits: new Array(10).fill(2) }, LOOK)).toEqual([10, 11, 12, 13]);
  });

  it.each([
    ['a cool window', IDS, 0, LOOK],
    ['a window that a look would hold', IDS.slice(0, 4), 9, LOOK],
    ['a model without second looks', IDS, 9, undefined],
  ])('leaves %s', (_, ids, logit, look) => {
    expect(lookAgain(ids, { logit, tokenLogits: tokenLogits(2).slice(0, ids.length + 2) }, look)).toBeUndefined();
  });

  it('leaves a model without a token head', () => {
    expect(lookAgain(IDS, { logit: 9, tokenLogits: undefined }, LOOK)).toBeUndefined();
  });
});

describe('a classifier with second looks', () => {
  /** Sees 99 as an attack always, 50 only beside other tokens: an accident of the window. */
  async function classify(ids: readonly number[]): Promise<{ probability: number; runs: number }> {
    let runs = 0;
    const classifier = createWindowClassifier({
      info: { version: 'x', thresholds: { balanced: 0.5 }, defaultOperatingPoint: 'balanced' },
      manifest: {
        window: { tokens: 10, content: 8, stride: 6 },
        tokenizer: { kind: 'wordpiece-uncased', cls: 101, sep: 102, unk: 100 },
        calibration: { kind: 'platt-windows', scale: 1, bias: 0, per_window: 0 },
        second_look: LOOK,
      },
      tokenizer: { tokenize: () => ({ ids, starts: ids.map((_, at) => at), ends: ids.map((_, at) => at + 1) }) },
      clock: manualClock(),
      scorer: {
        async score(window) {
          runs += 1;
          const hot = window.includes(99) || (window.includes(50) && window.length > 6);
          return { logit: hot ? 3 : -7, tokenLogits: window.map((id) => (id === 99 || id === 50 ? 5 : -5)) };
        },
        warmUp: () => Promise.resolve(),
        close: () => Promise.resolve(),
      },
    });
    const limits = { timeoutMs: 1_000, maxWindows: 10, signal: { aborted: false } };
    const { probability } = await classifier.classify(['x'.repeat(ids.length)], limits);
    return { probability, runs };
  }
  const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

  it.each([
    ['an attack stays hot', [1, 2, 99, 4, 5, 6, 7, 8], sigmoid(3), 2],
    ['an accident does not', [1, 2, 50, 4, 5, 6, 7, 8], sigmoid(-2), 2],
    ['a cool window is looked at once', [1, 2, 3, 4, 5, 6, 7, 8], sigmoid(-7), 1],
    ['a short window is looked at once', [1, 99, 3], sigmoid(3), 1],
    ['the same window is looked at twice once', [...new Array(20).fill(99)], sigmoid(3), 2],
  ])('%s', async (_, ids, probability, runs) => {
    expect(await classify(ids)).toEqual({ probability, runs });
  });
});
