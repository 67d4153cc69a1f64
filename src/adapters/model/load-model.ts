import { join } from 'node:path';
import { z } from 'zod';
import { ModelError } from '../../engine/errors.js';
import type { ModelManifest } from '../../engine/model/manifest.js';
import { createWindowClassifier } from '../../engine/model/window-classifier.js';
import { createWordPieceTokenizer, splitVocabulary } from '../../engine/model/wordpiece-tokenizer.js';
import type { Classifier, ClassifierInfo, Tokenizer } from '../../engine/ports.js';
import { systemClock } from '../system-clock.js';
import { createInlineScorer } from './inline-scorer.js';
import { readModelFile, readModelFolder } from './model-folder.js';
import type { GoldenWindow, NetworkSpec } from './onnx-network.js';
import { createProcessScorer, type ProcessScorerOptions } from './process-scorer.js';

/** How a model is run. */
export interface LoadModelOptions extends ProcessScorerOptions {
  /** `process` (default): in a child that can be killed. `inline`: in this process, blocking its event loop. */
  readonly isolation?: 'process' | 'inline' | undefined;
}

/**
 * Opens a model folder in this package's format. Every file is checked against the manifest's sha256;
 * the network itself is loaded, and tried on its golden vectors, by `warmUp` or with the first text.
 *
 * @throws ModelError `MODEL_MISSING`, `MODEL_MANIFEST`, `MODEL_DIGEST`, `MODEL_GOLDEN`, `MODEL_RUNTIME_MISSING`
 */
export async function loadModel(folder: string, options: LoadModelOptions = {}): Promise<Classifier> {
  const { manifest, version } = await readModelFolder(folder);
  requireRuntime();
  const tokenizer = readTokenizer((await readModelFile(folder, 'tokenizer.json')).toString('utf8'), manifest);
  const golden = Object.hasOwn(manifest.files, 'golden.jsonl')
    ? checkGoldenTokens((await readModelFile(folder, 'golden.jsonl')).toString('utf8'), tokenizer, manifest)
    : [];
  const spec: NetworkSpec = {
    file: join(folder, 'model.onnx'),
    sha256: manifest.files['model.onnx']?.sha256 ?? '',
    inputs: manifest.inputs,
    outputs: manifest.outputs,
    golden,
  };
  return createWindowClassifier({
    info: {
      version,
      thresholds: thresholdsOf(manifest.operating_points),
      defaultOperatingPoint: manifest.operating_point,
      clearsBelow: manifest.clears_below,
    },
    manifest,
    tokenizer,
    scorer: options.isolation === 'inline' ? createInlineScorer(spec) : createProcessScorer(spec, options),
    clock: options.clock ?? systemClock,
  });
}

const operatingPointsSchema = z.object({
  operating_points: z.record(z.string(), z.object({ threshold: z.number().min(0).max(1) })),
  operating_point: z.string(),
});

/** The thresholds in the manifest of a model that may be damaged; undefined where they can't be read. */
export async function readThresholds(
  folder: string,
): Promise<Pick<ClassifierInfo, 'thresholds' | 'defaultOperatingPoint'> | undefined> {
  try {
    const text = (await readModelFile(folder, 'manifest.json')).toString('utf8');
    const { operating_points, operating_point } = operatingPointsSchema.parse(JSON.parse(text));
    return { thresholds: thresholdsOf(operating_points), defaultOperatingPoint: operating_point };
  } catch {
    // Why it can't be read is told by `loadModel`.
    return undefined;
  }
}

function thresholdsOf(points: ModelManifest['operating_points']): ClassifierInfo['thresholds'] {
  return Object.fromEntries(Object.entries(points).map(([name, { threshold }]) => [name, threshold]));
}

function requireRuntime(): void {
  try {
    import.meta.resolve('onnxruntime-node');
  } catch (cause) {
    throw new ModelError(
      'MODEL_RUNTIME_MISSING',
      "the optional package onnxruntime-node isn't installed; `npm install onnxruntime-node` adds it",
      { cause },
    );
  }
}

/** The one kind of `tokenizer.json` that is read: BERT's uncased WordPiece, exactly. */
const schema = z.object({
  normalizer: z.object({
    type: z.literal('BertNormalizer'),
    clean_text: z.literal(true),
    handle_chinese_chars: z.literal(true),
    strip_accents: z.union([z.null(), z.literal(true)]),
    lowercase: z.literal(true),
  }),
  pre_tokenizer: z.object({ type: z.literal('BertPreTokenizer') }),
  model: z.object({
    type: z.literal('WordPiece').optional(),
    unk_token: z.string(),
    continuing_subword_prefix: z.literal('##'),
    max_input_chars_per_word: z.int().min(1),
    vocab: z.record(z.string(), z.int().min(0)),
  }),
});

/**
 * Makes the tokenizer of a `tokenizer.json` in Hugging Face's format.
 *
 * @throws ModelError `MODEL_MANIFEST` for another kind of tokenizer
 */
export function readTokenizer(text: string, manifest: ModelManifest): Tokenizer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ModelError('MODEL_MANIFEST', 'tokenizer.json is no JSON', { cause });
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const where = parsed.error.issues.map(({ path }) => path.join('.')).join(', ');
    throw new ModelError('MODEL_MANIFEST', `tokenizer.json is no uncased WordPiece tokenizer of BERT's kind: ${where}`);
  }
  const { model } = parsed.data;
  if (model.vocab[model.unk_token] !== manifest.tokenizer.unk) {
    throw new ModelError('MODEL_MANIFEST', 'tokenizer.json has another unknown token than the manifest');
  }
  return createWordPieceTokenizer(
    splitVocabulary(model.vocab, manifest.tokenizer.unk, model.max_input_chars_per_word),
    {
      markRun: manifest.text.mark_run,
      wordRun: manifest.text.word_run,
    },
  );
}

/** A text with the values that the training pipeline computed for it. */
const goldenSchema = z.object({ text: z.string(), ids: z.array(z.int()), windows: z.int().min(1), logit: z.number() });

/** Windows that a scoring process tries when it starts, shortest first: a moment, not seconds. */
const MAX_GOLDEN = 6;

/**
 * Reads `golden.jsonl`, checks the tokenizer on every text of it, and gives the windows to try the network on.
 *
 * @throws ModelError `MODEL_GOLDEN` where a line is broken or the tokenizer gives other tokens
 */
function checkGoldenTokens(jsonl: string, tokenizer: Tokenizer, manifest: ModelManifest): readonly GoldenWindow[] {
  const windows: GoldenWindow[] = [];
  jsonl.split('\n').forEach((line, index) => {
    if (line.trim() === '') return;
    const golden = parseGolden(line, index + 1);
    if (tokenizer.tokenize(golden.text).ids.join() !== golden.ids.join()) {
      throw new ModelError('MODEL_GOLDEN', `the tokenizer gives other tokens than line ${index + 1} of golden.jsonl`);
    }
    if (golden.windows > 1) return;
    windows.push({ ids: [manifest.tokenizer.cls, ...golden.ids, manifest.tokenizer.sep], logit: golden.logit });
  });
  return windows.sort((a, b) => a.ids.length - b.ids.length).slice(0, MAX_GOLDEN);
}

function parseGolden(line: string, number: number): z.infer<typeof goldenSchema> {
  try {
    return goldenSchema.parse(JSON.parse(line));
  } catch (cause) {
    throw new ModelError('MODEL_GOLDEN', `line ${number} of golden.jsonl can't be read`, { cause });
  }
}
