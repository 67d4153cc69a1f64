import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createEngine } from '../../src/engine/engine.js';
import { createWindowClassifier } from '../../src/engine/model/window-classifier.js';
import { manualClock } from './manual-clock.js';
import { stubPack } from './stub-pack.js';

/** Log-odds of the network that a task may move. */
const BOUND = 1.5;
const SCALE = 0.7;
const CLEARS_BELOW = 0.4;
const WINDOW = { tokens: 10, content: 8, stride: 6 };

/** A network that keeps its promise: the task moves the logit, by any function of its tokens, within the bound. */
const model = () =>
  createWindowClassifier({
    info: {
      version: 'x',
      thresholds: { balanced: 0.5 },
      defaultOperatingPoint: 'balanced',
      channelClearsBelow: { document: CLEARS_BELOW },
    },
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

const words = (maxLength: number) =>
  fc.array(fc.string({ minLength: 1, maxLength: 6 }), { maxLength }).map((all) => all.join(' '));

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

it('a task clears what the rules found only where the model without it comes within the bound of clearing', async () => {
  const engine = createEngine({
    pack: { ...stubPack, scan: () => UNCERTAIN },
    model: model(),
    clock: manualClock(),
    newEvidenceId: () => 'ev_0123456789abcdef01234567',
  });
  const judge = async (text: string, task?: string) => {
    const { verdict, explanation } = await engine.analyze(text, { channel: 'document', task, explain: true });
    expect(explanation.model.cleared).toBe(verdict === 'allow');
    return { cleared: verdict === 'allow', score: explanation.model.score as number };
  };
  const odds = (probability: number): number => Math.log(probability / (1 - probability));
  const most = odds(CLEARS_BELOW) + SCALE * BOUND;
  const counts = { cleared: 0, kept: 0 };
  await fc.assert(
    fc.asyncProperty(words(30), words(8), async (text, task) => {
      const without = await judge(text);
      if (without.cleared) return;
      if ((await judge(text, task)).cleared) {
        expect(odds(without.score)).toBeLessThan(most + 1e-9);
        counts.cleared += 1;
      } else if (odds(without.score) > most) counts.kept += 1;
    }),
    { numRuns: 600 },
  );
  // Some texts are cleared by their task, and some that no task could clear are blocked.
  expect(Math.min(counts.cleared, counts.kept)).toBeGreaterThan(5);
});

/** A finding of the rules that is not certain. */
const UNCERTAIN = { score: 0.7, rule: 'test.weak', cluster: ['test.weak'], findings: [], shadow: [] };
const NOTHING = { score: 0, rule: undefined, cluster: [], findings: [], shadow: [] };
