import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NetworkManifest } from '../../../src/engine/model/manifest.js';
import { createWindowClassifier } from '../../../src/engine/model/window-classifier.js';
import type { Classifier, ClassifyOptions, Tokenizer, WindowInput } from '../../../src/engine/ports.js';
import { manualClock } from '../../engine/manual-clock.js';

/** A token a word; its id is the word's length, 99 for `evil`. */
const tokenizer: Tokenizer = {
  tokenize(text) {
    const words = [...text.matchAll(/\S+/g)];
    return {
      ids: words.map(([word]) => (word === 'evil' ? 99 : word.length)),
      starts: words.map(({ index }) => index),
      ends: words.map((match) => match.index + match[0].length),
    };
  },
};

interface Made {
  readonly classifier: Classifier;
  readonly runs: (readonly number[])[];
  readonly inputs: readonly Omit<WindowInput, 'ids'>[];
  readonly mostAtOnce: () => number;
}

function make(perWindow = 0, parallel?: number, reads: Pick<NetworkManifest, 'channels' | 'task'> = {}): Made {
  const runs: (readonly number[])[] = [];
  const inputs: Omit<WindowInput, 'ids'>[] = [];
  const clock = manualClock();
  let underway = 0;
  let most = 0;
  const classifier = createWindowClassifier({
    info: { version: 'x', thresholds: { balanced: 0.5 }, defaultOperatingPoint: 'balanced' },
    manifest: {
      window: { tokens: 6, content: 4, stride: 3 },
      tokenizer: { kind: 'wordpiece-uncased', cls: 101, sep: 102, unk: 100 },
      calibration: { kind: 'platt-windows', scale: 1, bias: 0, per_window: perWindow },
      ...reads,
    },
    tokenizer,
    clock,
    scorer: {
      parallel,
      async score({ ids, taskTokens, channel }) {
        runs.push(ids);
        inputs.push({ taskTokens, channel });
        underway += 1;
        most = Math.max(most, underway);
        // A turn of the event loop, as a model run takes.
        await new Promise((resolve) => setImmediate(resolve));
        underway -= 1;
        clock.advance(10);
        return { logit: ids.includes(99) ? 3 : -3, tokenLogits: ids.map((id) => (id === 99 ? 5 : -5)) };
      },
      warmUp: () => Promise.resolve(),
      close: () => Promise.resolve(),
    },
  });
  return { classifier, runs, inputs, mostAtOnce: () => most };
}

const OPTIONS = { timeoutMs: 10_000, maxWindows: 100, signal: { aborted: false } };
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

describe('createWindowClassifier', () => {
  it('scores one window with the special tokens at both ends', async () => {
    const { classifier, runs } = make();
    const answer = await classifier.classify(['a evil word'], OPTIONS);
    expect(runs).toEqual([[101, 1, 99, 4, 102]]);
    expect(answer).toEqual({
      probability: sigmoid(3),
      windows: [{ text: 0, span: { start: 0, end: 11 }, probability: sigmoid(3) }],
      hotspots: [{ text: 0, span: { start: 2, end: 6 } }],
      unseen: [],
    });
  });

  it('scores an empty text too', async () => {
    const { classifier, runs } = make();
    expect((await classifier.classify([''], OPTIONS)).probability).toBe(sigmoid(-3));
    expect(runs).toEqual([[101, 102]]);
  });

  it('lets the worst window count, and the number of windows', async () => {
    const { classifier } = make(1);
    const answer = await classifier.classify(['a bb ccc dddd eeeee ffffff evil hh'], OPTIONS);
    expect(answer.windows).toHaveLength(3);
    expect(answer.probability).toBeCloseTo(sigmoid(3 - Math.log(3)), 12);
    expect(answer.hotspots).toEqual([{ text: 0, span: { start: 27, end: 31 } }]);
    expect(answer.windows.map(({ probability }) => probability)).toEqual(
      answer.windows.map(({ probability }) => probability).toSorted((a, b) => b - a),
    );
  });

  it('lets the worst text count', async () => {
    const { classifier } = make();
    const answer = await classifier.classify(['all is well', 'so evil'], OPTIONS);
    expect(answer.probability).toBe(sigmoid(3));
    expect(answer.windows[0]).toMatchObject({ text: 1, span: { start: 0, end: 7 } });
    expect(answer.hotspots).toEqual([{ text: 1, span: { start: 3, end: 7 } }]);
  });

  it('is more careful with decoded readings', async () => {
    const { classifier } = make();
    const answer = await classifier.classify(['all is well', 'so evil'], { ...OPTIONS, derivedFrom: 1 });
    expect(answer.probability).toBe(sigmoid(3 - 1.5));
  });

  it('scores identical windows once', async () => {
    const { classifier, runs } = make();
    const answer = await classifier.classify(['a a a a a a a a a a', 'a a a a'], OPTIONS);
    expect(runs).toHaveLength(1);
    expect(answer.windows).toHaveLength(4);
  });

  it('puts the last tokens of the task behind each window, and judges by the window alone', async () => {
    const { classifier, runs, inputs } = make(0, 1, {
      channels: { document: { id: 2 } },
      task: { tokens: 2, bound: 1 },
    });
    const answer = await classifier.classify(['a bb'], { ...OPTIONS, channel: 'document', task: 'ccc evil evil' });
    expect(runs).toEqual([[101, 1, 2, 102, 99, 99, 102]]);
    expect(inputs).toEqual([{ taskTokens: 3, channel: 2 }]);
    expect(answer.hotspots).toEqual([]);
    await classifier.classify(['a bb'], { ...OPTIONS, channel: 'user', task: ' ' });
    expect([runs.at(-1), inputs.at(-1)]).toEqual([[101, 1, 2, 102], { taskTokens: 0, channel: 0 }]);
  });

  it('does not score a window again that it has scored for the same channel and task', async () => {
    const { classifier, runs } = make(0, 1, {
      channels: { user: { id: 1 }, document: { id: 2 }, tool_result: { id: 2 } },
      task: { tokens: 2, bound: 1 },
    });
    const ask = async (text: string, whose: Pick<ClassifyOptions, 'channel' | 'task' | 'tenant'> = {}) => {
      const before = runs.length;
      const answer = await classifier.classify([text], { ...OPTIONS, ...whose });
      return [runs.length - before, answer] as const;
    };
    const [first, answer] = await ask('so evil');
    expect(await ask('so evil')).toEqual([0, answer]);
    expect(first).toBe(1);
    const rows = [
      [1, { channel: 'user' }],
      [1, { channel: 'document' }],
      [0, { channel: 'tool_result' }],
      [1, { channel: 'document', task: 'a bb' }],
      [0, { channel: 'document', task: 'evil a bb' }],
      [1, { channel: 'document', task: 'evil bb' }],
      // No task asks for a user's own words.
      [0, { channel: 'user', task: 'a bb' }],
      [0, { channel: 'unknown' }],
      [1, { channel: 'user', tenant: 'a' }],
      [1, { channel: 'user', tenant: 'b' }],
      [0, { channel: 'user', tenant: 'a' }],
    ] as const;
    const counts: number[] = [];
    for (const [, whose] of rows) counts.push((await ask('so evil', whose))[0]);
    expect(counts).toEqual(rows.map(([count]) => count));
    // One of two windows is known.
    expect((await ask('a bb ccc dddd'))[0]).toBe(1);
    expect((await ask('a bb ccc dddd eeeee ffffff'))[0]).toBe(1);
  });

  it('forgets the windows that were asked for longest ago, and all when closed', async () => {
    const { classifier, runs } = make();
    const word = (n: number): string => 'x'.repeat(n);
    for (let n = 200; n < 2_200; n += 1) await classifier.classify([word(n)], OPTIONS);
    await classifier.classify([word(200)], OPTIONS);
    expect(runs).toHaveLength(2_000);
    await classifier.classify([word(2_200)], OPTIONS);
    await classifier.classify([word(200)], OPTIONS);
    expect(runs).toHaveLength(2_001);
    await classifier.classify([word(201)], OPTIONS);
    expect(runs).toHaveLength(2_002);
    await classifier.close();
    await classifier.classify([word(200)], OPTIONS);
    expect(runs).toHaveLength(2_003);
  });

  it.each([undefined, 1, 2, 3])('scores as many windows at once as the scorer takes: %s', async (parallel) => {
    const { classifier, mostAtOnce } = make(0, parallel);
    const text = 'a bb ccc dddd eeeee ffffff evil hh iiiiiiiii';
    const answer = await classifier.classify([text], OPTIONS);
    expect(mostAtOnce()).toBe(parallel ?? 1);
    expect(answer).toEqual(await make().classifier.classify([text], OPTIONS));
  });

  it('states what it did not see, and leaves room for other texts', async () => {
    const { classifier, runs } = make();
    const long = Array.from({ length: 40 }, (_, index) => 'x'.repeat(index + 1)).join(' ');
    const answer = await classifier.classify([long, 'so evil'], { ...OPTIONS, maxWindows: 3 });
    expect(runs).toHaveLength(3);
    expect(answer.probability).toBe(sigmoid(3));
    expect(answer.unseen).not.toEqual([]);
    const seen = answer.windows.filter(({ text }) => text === 0).map(({ span }) => span);
    expect(seen.some(({ start }) => start === 0)).toBe(true);
    expect(seen.some(({ end }) => end === long.length)).toBe(true);
  });

  it('stops at the deadline, and when nobody waits', async () => {
    const { classifier, runs } = make();
    const text = 'a bb ccc dddd eeeee ffffff ggggggg hhhhhhhh';
    await expect(classifier.classify([text], { ...OPTIONS, timeoutMs: 15 })).rejects.toMatchObject({
      code: 'MODEL_TIMEOUT',
    });
    expect(runs).toHaveLength(2);
    await expect(classifier.classify([text], { ...OPTIONS, signal: { aborted: true } })).rejects.toMatchObject({
      code: 'MODEL_TIMEOUT',
    });
  });

  it('covers every character with its windows', async () => {
    const { classifier } = make();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'bb', ' ', '\n', '🙂', 'évil '), { maxLength: 60 }),
        async (parts) => {
          const text = parts.join('');
          const { windows } = await classifier.classify([text], OPTIONS);
          const spans = windows.map(({ span }) => span).sort((a, b) => a.start - b.start || a.end - b.end);
          let covered = 0;
          for (const { start, end } of spans) {
            expect(start).toBeLessThanOrEqual(covered);
            covered = Math.max(covered, end);
            for (const edge of [start, end])
              expect(text.slice(edge - 1, edge + 1)).not.toMatch(/^[\uD800-\uDBFF][\uDC00-\uDFFF]$/);
          }
          expect(covered).toBe(text.length);
        },
      ),
    );
  });
});
