import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createEngine } from '../../src/engine/engine.js';
import { createWindowClassifier } from '../../src/engine/model/window-classifier.js';
import { manualClock } from './manual-clock.js';
import { stubPack } from './stub-pack.js';

/** Log-odds of the network that a task may move. */
const BOUND = 1.5;
const SCALE = 0.7;
const WINDOW = { tokens: 10, content: 8, stride: 6 };

/** A network that keeps its promise: the task moves the logit, by any function of its tokens, within the bound. */
const model = () =>
  createWindowClassifier({
    info: { version: 'x', thresholds: { balanced: 0.5 }, defaultOperatingPoint: 'balanced' },
    manifest: {
      tokenizer: { kind: 'wordpiece-uncased', cls: 1, sep: 2, unk: 3 },
      window: WINDOW,
      calibration: { kind: 'platt-windows', scale: SCALE, bias: 0.2, per_window: 0.3, sure: 2 },
      channels: { document: { id: 2 } },
      task: { tokens: 4, bound: BOUND },
    },
    tokenizer: {
      tokenize(text) {
        const words = [...text.matchAll(/\S+/g)];
        return {
          ids: words.map(([word]) => 4 + [...word].reduce((sum, char) => sum + (char.codePointAt(0) as number), 0)),
          starts: words.map(({ index }) => index),
          ends: words.map((match) => match.index + match[0].length),
        };
      },
    },
    scorer: {
      async score({ ids, taskTokens = 0 }) {
        const end = ids.length - taskTokens;
        const window = ids.slice(0, end).reduce((sum, id) => sum + Math.sin(id), 0);
        const pull = ids.slice(end).reduce((sum, id) => sum + Math.cos(id) * 10, 0);
        return {
          logit: window + BOUND * Math.tanh(pull),
          // What it says of the task's own tokens must not count.
          tokenLogits: ids.map((id, at) => (at < end ? Math.sin(id) : 1e3 * Math.cos(id))),
        };
      },
      warmUp: () => Promise.resolve(),
      close: () => Promise.resolve(),
    },
    clock: manualClock(),
  });

it('whoever controls the task moves the log-odds of a text by no more than the stated bound', async () => {
  const engine = createEngine({
    pack: { ...stubPack, scan: () => ({ ...NOTHING }) },
    model: model(),
    clock: manualClock(),
    newEvidenceId: () => 'ev_0123456789abcdef01234567',
  });
  const logOdds = async (text: string, task?: string): Promise<number> => {
    const { score } = await engine.analyze(text, { channel: 'document', task });
    return Math.log(score / (1 - score));
  };
  const words = (maxLength: number) =>
    fc.array(fc.string({ minLength: 1, maxLength: 6 }), { maxLength }).map((all) => all.join(' '));
  let moved = 0;
  await fc.assert(
    fc.asyncProperty(words(30), words(8), async (text, task) => {
      const difference = (await logOdds(text, task)) - (await logOdds(text));
      expect(Math.abs(difference)).toBeLessThanOrEqual(SCALE * BOUND + 1e-9);
      moved = Math.max(moved, Math.abs(difference));
      // Nor does a task of one call count in another.
      expect((await logOdds(text, task)) - (await logOdds(text))).toBe(difference);
    }),
    { numRuns: 300 },
  );
  // The attack does reach the network.
  expect(moved).toBeGreaterThan(0.9 * SCALE * BOUND);
});

const NOTHING = { score: 0, rule: undefined, cluster: [], findings: [], shadow: [] };
