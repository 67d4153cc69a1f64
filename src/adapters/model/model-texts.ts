/** The text files of a model folder, read without Node's own modules: `portcullis/web` reads them too. */
import { z } from 'zod';
import { CHANNELS, type KnownChannel } from '../../engine/channel.js';
import { ModelError } from '../../engine/errors.js';
import type { ChannelManifest, ModelManifest, NetworkManifest, OperatingPoints } from '../../engine/model/manifest.js';
import { soleWindow } from '../../engine/model/window-classifier.js';
import { createWordPieceTokenizer, splitVocabulary } from '../../engine/model/wordpiece-tokenizer.js';
import type { ClassifierInfo, Tokenizer } from '../../engine/ports.js';
import type { GoldenWindow, NetworkShape } from './network.js';

export function classifierInfo(manifest: ModelManifest, version: string): ClassifierInfo {
  return {
    version,
    ...thresholdsIn(manifest),
    clearsBelow: manifest.clears_below,
    channelClearsBelow: Object.fromEntries(
      Object.entries(manifest.channels ?? {}).flatMap(([name, { clears_below: below }]) =>
        below === undefined ? [] : [[name, below]],
      ),
    ),
    rulesWeight: manifest.rules_weight,
  };
}

export function thresholdsIn({
  operating_points: points,
  operating_point: defaultOperatingPoint,
  channels = {},
}: Pick<ModelManifest, 'operating_points' | 'operating_point'> & {
  readonly channels?: Readonly<Partial<Record<KnownChannel, Pick<ChannelManifest, 'operating_points'>>>> | undefined;
}): Pick<ClassifierInfo, 'thresholds' | 'channelThresholds' | 'defaultOperatingPoint'> {
  const read = (given: OperatingPoints): Readonly<Record<string, number>> =>
    Object.fromEntries(Object.entries(given).map(([name, { threshold }]) => [name, threshold]));
  const own = Object.entries(channels).map(([name, channel]) => [name, read(channel.operating_points ?? points)]);
  return { thresholds: read(points), channelThresholds: Object.fromEntries(own), defaultOperatingPoint };
}

/** Checked by hand: zod takes 50 ms for 30,000 entries. */
function isVocabulary(value: unknown): boolean {
  const isId = (id: unknown): boolean => Number.isSafeInteger(id) && (id as number) >= 0;
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isId);
}

/** The kinds of `tokenizer.json` that are read: BERT's WordPiece, uncased or cased, exactly. */
const schema = z.object({
  normalizer: z.object({
    type: z.literal('BertNormalizer'),
    clean_text: z.literal(true),
    handle_chinese_chars: z.literal(true),
    strip_accents: z.boolean().nullable(),
    lowercase: z.boolean(),
  }),
  pre_tokenizer: z.object({ type: z.literal('BertPreTokenizer') }),
  model: z.object({
    type: z.literal('WordPiece').optional(),
    unk_token: z.string(),
    continuing_subword_prefix: z.literal('##'),
    max_input_chars_per_word: z.int().min(1),
    vocab: z.custom<Readonly<Record<string, number>>>(isVocabulary),
  }),
});

/**
 * Makes the tokenizer of a `tokenizer.json` in Hugging Face's format.
 *
 * @throws ModelError `MODEL_MANIFEST` for another kind of tokenizer
 */
export function readTokenizer(text: string, manifest: Pick<ModelManifest, 'tokenizer' | 'text'>): Tokenizer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ModelError('MODEL_MANIFEST', 'tokenizer.json is not valid JSON', { cause });
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const where = parsed.error.issues.map(({ path }) => path.join('.')).join(', ');
    throw new ModelError('MODEL_MANIFEST', `tokenizer.json is not a WordPiece tokenizer like BERT's: ${where}`);
  }
  const { model, normalizer } = parsed.data;
  const cased = manifest.tokenizer.kind === 'wordpiece-cased';
  // Left to itself, BERT's normalizer strips accents where it lowers the case.
  const strips = normalizer.strip_accents ?? normalizer.lowercase;
  if (normalizer.lowercase === cased || strips === cased) {
    throw new ModelError(
      'MODEL_MANIFEST',
      `the normalizer of tokenizer.json is not that of \`${manifest.tokenizer.kind}\``,
    );
  }
  if (model.vocab[model.unk_token] !== manifest.tokenizer.unk) {
    throw new ModelError('MODEL_MANIFEST', "the unknown token of tokenizer.json differs from the manifest's");
  }
  return createWordPieceTokenizer(
    splitVocabulary(model.vocab, manifest.tokenizer.unk, model.max_input_chars_per_word),
    {
      markRun: manifest.text.mark_run,
      wordRun: manifest.text.word_run,
      cased,
    },
  );
}

/**
 * The tokenizer of a network, and how to run it and try it, from files that begin with the prefix.
 *
 * @param read gives a file of the model folder by its name
 * @throws ModelError `MODEL_MANIFEST`, `MODEL_GOLDEN`, and what `read` throws
 */
export async function readNetworkTexts(
  { files, text, inputs, outputs }: ModelManifest,
  network: NetworkManifest,
  prefix: string,
  read: (name: string) => Promise<string>,
): Promise<{ readonly tokenizer: Tokenizer; readonly shape: NetworkShape }> {
  const tokenizer = readTokenizer(await read(`${prefix}tokenizer.json`), { ...network, text });
  const golden = `${prefix}golden.jsonl`;
  return {
    tokenizer,
    shape: {
      inputs: network.inputs ?? inputs,
      outputs,
      golden: Object.hasOwn(files, golden) ? checkGoldenTokens(await read(golden), tokenizer, network) : [],
    },
  };
}

/** A text with the values that the training pipeline computed for it. */
const goldenSchema = z.object({
  text: z.string(),
  channel: z.enum([...CHANNELS, 'unknown']).optional(),
  task: z.string().optional(),
  ids: z.array(z.int()),
  windows: z.int().min(1),
  logit: z.number(),
});

/** Windows that a scoring process tries when it starts, shortest first: a moment, not seconds. */
const MAX_GOLDEN = 6;

/**
 * Reads `golden.jsonl`, checks the tokenizer on every text of it, and gives the windows to try the network on.
 *
 * @throws ModelError `MODEL_GOLDEN` where a line is broken or the tokenizer gives other tokens
 */
function checkGoldenTokens(jsonl: string, tokenizer: Tokenizer, network: NetworkManifest): readonly GoldenWindow[] {
  const windows: GoldenWindow[] = [];
  jsonl.split('\n').forEach((line, index) => {
    if (line.trim() === '') return;
    const golden = parseGolden(line, index + 1);
    if (tokenizer.tokenize(golden.text).ids.join() !== golden.ids.join()) {
      throw new ModelError('MODEL_GOLDEN', `the tokenizer's tokens differ from line ${index + 1} of golden.jsonl`);
    }
    if (golden.windows > 1) return;
    windows.push({ ...soleWindow(golden, tokenizer, network), logit: golden.logit });
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
