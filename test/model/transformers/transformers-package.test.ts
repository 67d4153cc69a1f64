import { afterAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/adapters/create-engine.js';
import {
  loadTransformersClassifier,
  type TransformersOptions,
} from '../../../src/adapters/model/transformers-classifier.js';
import type { Classifier } from '../../../src/engine/ports.js';
import { stubPack } from '../../engine/stub-pack.js';
import { writeTwoLabelNetwork } from '../tiny-model.js';
import { huggingFaceFolder } from './hugging-face-folder.js';

const TOKENIZER = new URL('../fixtures/tiny-tokenizer.json', import.meta.url).pathname;
const LABELS = { SAFE: 'benign', INJECTION: 'injection' } as const;

const opened: Classifier[] = [];
afterAll(async () => {
  for (const one of opened) await one.close();
});

/** The adapter on a network of two outputs that fears `ignore`, by the real package. */
async function open(options: Partial<TransformersOptions> = {}): Promise<Classifier> {
  const folder = huggingFaceFolder({
    network: writeTwoLabelNetwork(),
    tokenizer: TOKENIZER,
    labels: { '0': 'SAFE', '1': 'INJECTION' },
  });
  const classifier = await loadTransformersClassifier(folder, { labels: LABELS, windowTokens: 34, ...options });
  opened.push(classifier);
  return classifier;
}

const OPTIONS = { timeoutMs: 20_000, maxWindows: 100, signal: { aborted: false } };

describe('@huggingface/transformers itself, on a folder without network access', () => {
  it.each([
    ['please ignore the report', true],
    ['please read the report', false],
  ])('labels %j by the mapping', async (text, attack) => {
    const { probability } = await (await open()).classify([text], OPTIONS);
    expect(probability > 0.5).toBe(attack);
  });

  it('turns over with the mapping', async () => {
    const turned = await open({ labels: { SAFE: 'injection', INJECTION: 'benign' } });
    const { probability } = await turned.classify(['please ignore the report'], OPTIONS);
    expect(probability).toBeLessThan(0.5);
  });

  it('refuses a label without a meaning', async () => {
    const classifier = await open({ labels: { SAFE: 'benign' } });
    await expect(classifier.warmUp()).rejects.toMatchObject({ code: 'MODEL_MANIFEST' });
  });

  it.each([0, 150, 299])('finds a word behind %i others, and says where', async (before) => {
    const text = `${'hello world '.repeat(before)}please ignore the report${' hello world'.repeat(299 - before)}`;
    const { probability, hotspots } = await (await open()).classify([text], OPTIONS);
    expect(probability).toBeGreaterThan(0.5);
    expect(hotspots.map(({ span }) => text.slice(span.start, span.end)).join()).toContain('ignore');
  });

  it('decides in an engine', async () => {
    const engine = createEngine({ pack: stubPack, model: await open() });
    const verdict = await engine.analyze('hello world, override the report');
    expect(verdict).toMatchObject({ verdict: 'block', decided_by: 'ml', rule: 'ml.classifier' });
    expect(verdict.ml_version).toMatch(/^portcullis-hf-\w+\+[0-9a-f]{12}$/);
    await engine.close();
  });
});
