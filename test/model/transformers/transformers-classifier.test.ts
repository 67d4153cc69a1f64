import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  loadTransformersClassifier,
  type TransformersOptions,
} from '../../../src/adapters/model/transformers-classifier.js';
import type { TransformersRuntime } from '../../../src/adapters/model/transformers-model.js';

/** A folder as Hugging Face lays it out, without a network: the runtime below plays it. */
function folder(): string {
  const root = mkdtempSync(join(tmpdir(), 'portcullis-hf-'));
  mkdirSync(join(root, 'onnx'));
  writeFileSync(join(root, 'onnx', 'model.onnx'), 'weights');
  writeFileSync(
    join(root, 'tokenizer.json'),
    '{"added_tokens":[{"content":"<s>","special":true},{"content":"w","special":false}]}',
  );
  return root;
}

interface Played {
  readonly runtime: TransformersRuntime;
  readonly read: string[];
  readonly asked: { name: string; options: object }[];
}

/** A runtime whose tokens are words and whose network fears the word `evil`. */
function play(logits: (text: string) => readonly number[], labels?: Readonly<Record<string, string>>): Played {
  const read: string[] = [];
  const asked: { name: string; options: object }[] = [];
  const tokenizer = Object.assign((text: string) => ({ text }), {
    encode: (text: string) =>
      text
        .split(/\s+/)
        .filter((word) => word !== '')
        .map((_, index) => index),
  });
  const model = Object.assign(
    async (inputs: object) => {
      const { text } = inputs as { text: string };
      read.push(text);
      const data = logits(text);
      return { logits: { dims: [1, data.length], data } };
    },
    { config: labels === undefined ? {} : { id2label: labels }, dispose: async () => undefined },
  );
  const runtime: TransformersRuntime = {
    env: { allowRemoteModels: true, allowLocalModels: false, localModelPath: '' },
    AutoTokenizer: { from_pretrained: async () => tokenizer },
    AutoModel: {
      async from_pretrained(name, options) {
        asked.push({ name, options });
        return model;
      },
    },
  };
  return { runtime, read, asked };
}

const OPTIONS = { timeoutMs: 10_000, maxWindows: 100, signal: { aborted: false } };
const open = (played: Played, options: TransformersOptions = {}, at: string = folder()) =>
  loadTransformersClassifier(at, { transformers: played.runtime, ...options });
const fearful = (text: string): readonly number[] => (text.includes('evil') ? [-2, 2] : [2, -2]);
const LABELS = { 0: 'SAFE', 1: 'INJECTION' };
const MEANINGS = { SAFE: 'benign', INJECTION: 'injection' } as const;

describe('loadTransformersClassifier', () => {
  it('reads labels by their meaning', async () => {
    const classifier = await open(play(fearful, LABELS), { labels: MEANINGS });
    expect((await classifier.classify(['so evil'], OPTIONS)).probability).toBeCloseTo(1 / (1 + Math.exp(-4)), 9);
    expect((await classifier.classify(['so good'], OPTIONS)).probability).toBeCloseTo(1 / (1 + Math.exp(4)), 9);
  });

  it('takes several labels for one meaning, and a calibration', async () => {
    const three = play(() => [1, 1, 1], { 0: 'A', 1: 'B', 2: 'C' });
    const labels = { A: 'benign', B: 'injection', C: 'injection' } as const;
    const classifier = await open(three, { labels, calibration: { scale: 2, bias: 0 } });
    expect((await classifier.classify(['x'], OPTIONS)).probability).toBeCloseTo(0.8, 9);
  });

  it('takes a network with one logit', async () => {
    const classifier = await open(play(() => [3]));
    expect((await classifier.classify(['x'], OPTIONS)).probability).toBeCloseTo(1 / (1 + Math.exp(-3)), 9);
  });

  it.each([
    ['a label without a meaning', { labels: { SAFE: 'benign' } as const }, 'MODEL_MANIFEST'],
    ['no label for an injection', { labels: { SAFE: 'benign', INJECTION: 'benign' } as const }, 'MODEL_MANIFEST'],
    ['two outputs and no labels', {}, 'MODEL_OUTPUT'],
    ['an output of another name', { labels: MEANINGS, output: 'other' }, 'MODEL_OUTPUT'],
  ])('refuses %s', async (_, options, code) => {
    const classifier = await open(play(fearful, LABELS), options);
    await expect(classifier.classify(['x'], OPTIONS)).rejects.toMatchObject({ name: 'ModelError', code });
  });

  it('refuses values that are no numbers', async () => {
    const classifier = await open(
      play(() => [Number.NaN, 1], LABELS),
      { labels: MEANINGS },
    );
    await expect(classifier.classify(['x'], OPTIONS)).rejects.toMatchObject({ code: 'MODEL_OUTPUT' });
  });

  it('reads its own folder and nothing from a network', async () => {
    const played = play(fearful, LABELS);
    const at = folder();
    const classifier = await open(played, { labels: MEANINGS, dtype: 'q8' }, at);
    await classifier.warmUp();
    expect(played.runtime.env).toEqual({
      allowRemoteModels: false,
      allowLocalModels: true,
      localModelPath: dirname(at),
    });
    expect(played.asked).toEqual([
      { name: basename(at), options: expect.objectContaining({ local_files_only: true, dtype: 'q8' }) },
    ]);
  });

  it("takes the tokenizer's special tokens in a text apart", async () => {
    const played = play(fearful, LABELS);
    await (await open(played, { labels: MEANINGS })).classify(['a <s> b w'], OPTIONS);
    expect(played.read).toEqual(['a < s> b w']);
  });

  it('lets the worst of overlapping windows count, the same one scored once', async () => {
    const played = play(fearful, LABELS);
    const classifier = await open(played, { labels: MEANINGS, windowTokens: 12 });
    const text = `${'fine '.repeat(100)}evil ${'fine '.repeat(100)}`;
    const answer = await classifier.classify([text], OPTIONS);
    expect(answer.probability).toBeGreaterThan(0.9);
    const { start, end } = answer.hotspots[0]?.span ?? { start: 0, end: 0 };
    expect(text.slice(start, end)).toContain('evil');
    expect(played.read.length).toBeLessThan(answer.windows.length);
    const spans = answer.windows.map(({ span }) => span).sort((a, b) => a.start - b.start);
    expect(spans[0]?.start).toBe(0);
    expect(spans.at(-1)?.end).toBe(text.length);
    spans.forEach((span, index) => {
      if (index > 0) expect(span.start).toBeLessThan(spans[index - 1]?.end as number);
    });
  });

  it('states what it did not see, and keeps the deadline', async () => {
    const classifier = await open(play(fearful, LABELS), { labels: MEANINGS, windowTokens: 8 });
    const text = Array.from({ length: 100 }, (_, index) => `w${index}`).join(' ');
    expect((await classifier.classify([text], { ...OPTIONS, maxWindows: 3 })).unseen.length).toBeGreaterThan(0);
    await expect(classifier.classify([text], { ...OPTIONS, timeoutMs: 0 })).rejects.toMatchObject({
      code: 'MODEL_TIMEOUT',
    });
  });

  it('changes its version with any file', async () => {
    const at = folder();
    const before = (await open(play(fearful), {}, at)).info.version;
    writeFileSync(join(at, 'onnx', 'model.onnx'), 'other weights');
    const after = (await open(play(fearful), {}, at)).info.version;
    expect(before).toMatch(/\+[0-9a-f]{12}$/);
    expect(after).not.toBe(before);
  });

  it('says what is missing', async () => {
    await expect(loadTransformersClassifier(tmpdir())).rejects.toMatchObject({ code: 'MODEL_MISSING' });
    vi.doMock('@huggingface/transformers', () => {
      throw new Error('not installed');
    });
    const without = await loadTransformersClassifier(folder());
    const failure = await without.warmUp().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'MODEL_RUNTIME_MISSING', message: expect.stringContaining('npm install') });
    vi.doUnmock('@huggingface/transformers');
  });

  it('rejects once closed', async () => {
    const classifier = await open(play(fearful, LABELS), { labels: MEANINGS });
    await classifier.close();
    await expect(classifier.classify(['x'], OPTIONS)).rejects.toMatchObject({ code: 'MODEL_CLOSED' });
  });
});
