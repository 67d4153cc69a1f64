import { createHash, hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { ModelError } from '../../engine/errors.js';
import { toProbability } from '../../engine/model/calibration.js';
import { readModelFile } from './model-folder.js';

/** The little of `@huggingface/transformers` that is used. It is an optional peer, so its own types aren't. */
export interface TransformersRuntime {
  readonly env: { allowRemoteModels: boolean; allowLocalModels: boolean; localModelPath: string };
  readonly AutoTokenizer: { from_pretrained(name: string, options: object): Promise<TransformersTokenizer> };
  readonly AutoModel: { from_pretrained(name: string, options: object): Promise<TransformersModel> };
}

export interface TransformersTokenizer {
  (text: string, options: { readonly truncation: boolean; readonly max_length: number }): object;
  encode(text: string, options: { readonly add_special_tokens: boolean }): readonly number[];
}

export interface TransformersModel {
  (inputs: object): Promise<Readonly<Record<string, TransformersTensor | undefined>>>;
  readonly config: { readonly id2label?: Readonly<Record<string, string>> };
  dispose(): Promise<unknown>;
}

export interface TransformersTensor {
  readonly dims: readonly number[];
  readonly data: ArrayLike<number>;
}

/** @throws ModelError `MODEL_RUNTIME_MISSING` where the optional package isn't there or can't be loaded */
export async function importTransformers(): Promise<TransformersRuntime> {
  // The name in a variable: neither the compiler nor a bundler may look for a package that isn't installed.
  const name = '@huggingface/transformers';
  try {
    return (await import(name)) as TransformersRuntime;
  } catch (cause) {
    throw new ModelError(
      'MODEL_RUNTIME_MISSING',
      "the optional package @huggingface/transformers isn't installed or can't be loaded; `npm install @huggingface/transformers` adds it",
      { cause },
    );
  }
}

/** Properties of a Hugging Face model folder that are known before loading it. */
export interface TransformersFolder {
  readonly folder: string;
  /** `<folder's name>+<first 12 hex digits of the sha256 over its files>`. */
  readonly version: string;
  /** Texts that the tokenizer would take for its special tokens. */
  readonly specialTokens: readonly string[];
}

const tokenizerSchema = z.object({
  added_tokens: z.array(z.object({ content: z.string(), special: z.boolean() })).default([]),
});

/** @throws ModelError `MODEL_MISSING`, `MODEL_MANIFEST` */
export async function readTransformersFolder(path: string): Promise<TransformersFolder> {
  const folder = resolve(path);
  const text = (await readModelFile(folder, 'tokenizer.json')).toString('utf8');
  const parsed = tokenizerSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new ModelError('MODEL_MANIFEST', "tokenizer.json isn't in Hugging Face's format");
  const digest = createHash('sha256');
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  for (const name of names.sort()) digest.update(hash('sha256', await readFile(name), 'buffer'));
  return {
    folder,
    version: `${basename(folder)}+${digest.digest('hex').slice(0, 12)}`,
    specialTokens: parsed.data.added_tokens.filter(({ special }) => special).map(({ content }) => content),
  };
}

/** Meaning of a label of a third-party classifier. */
export type LabelMeaning = 'injection' | 'benign';

/**
 * The meaning of each output of the network, in order; empty for a network with a single output.
 *
 * @throws ModelError `MODEL_MANIFEST` that names the labels without a meaning
 */
export function readLabels(
  idToLabel: Readonly<Record<string, string>>,
  meanings: Readonly<Record<string, LabelMeaning>> | undefined,
): readonly LabelMeaning[] {
  if (meanings === undefined) return [];
  const labels = Object.keys(idToLabel)
    .sort((a, b) => Number(a) - Number(b))
    .map((id) => idToLabel[id] as string);
  const known = labels.map((label) => (Object.hasOwn(meanings, label) ? meanings[label] : undefined));
  if (known.includes(undefined) || !known.includes('injection') || !known.includes('benign')) {
    const message = `each label of the model needs a meaning, and both meanings a label: ${labels.join(', ')}`;
    throw new ModelError('MODEL_MANIFEST', message);
  }
  return known as readonly LabelMeaning[];
}

/**
 * The probability, 0..1, that a network's output speaks of an injection: from its one logit, or from the
 * odds of all labels that mean one against all that don't.
 *
 * @throws ModelError `MODEL_OUTPUT` where the output isn't one row of finite numbers, one a label
 */
export function injectionProbability(
  output: TransformersTensor | undefined,
  meanings: readonly LabelMeaning[],
  { scale, bias }: { readonly scale: number; readonly bias: number } = { scale: 1, bias: 0 },
): number {
  const logits = Array.from(output?.data ?? []);
  if (logits.length !== Math.max(1, meanings.length) || !logits.every(Number.isFinite)) {
    throw new ModelError('MODEL_OUTPUT', 'the network returned a label value that is not finite');
  }
  const logOdds =
    meanings.length === 0
      ? (logits[0] as number)
      : logSumExp(logits.filter((_, index) => meanings[index] === 'injection')) -
        logSumExp(logits.filter((_, index) => meanings[index] === 'benign'));
  return toProbability(scale * logOdds + bias);
}

function logSumExp(values: readonly number[]): number {
  const greatest = Math.max(...values);
  return greatest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - greatest), 0));
}

/** Normalisation is quadratic on longer runs of combining marks. @see UAX #15, stream-safe text format */
const MARK_RUNS = /(\p{M}{30})\p{M}+/gu;

/**
 * A text that plays no tricks on a foreign tokenizer: its special tokens in the text are taken apart, so that
 * they are read as text, and of long runs of combining marks 30 stay.
 */
export function neutralText(text: string, specialTokens: readonly string[]): string {
  let result = text.replace(MARK_RUNS, '$1');
  for (const token of specialTokens) {
    if (token.length > 1) result = result.replaceAll(token, `${token.slice(0, 1)} ${token.slice(1)}`);
  }
  return result;
}
