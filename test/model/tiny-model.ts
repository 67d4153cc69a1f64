import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FLOAT, INT64, model, type Node, tensor, valueInfo } from './network/onnx-writer.js';

/** What is wrong with the network. */
export type TinyKind = 'good' | 'nan' | 'wrong-shape' | 'out-of-memory' | 'garbage';

const TOKENIZER = readFileSync('test/model/fixtures/tiny-tokenizer.json');
const VOCAB = (JSON.parse(TOKENIZER.toString()) as { model: { vocab: Record<string, number> } }).model.vocab;

const CLS = 2;
const SEP = 3;
const UNK = 1;
/** Tokens of a window without the two special ones, and the step between windows. */
const CONTENT = 32;
const STRIDE = 24;

/** One value a token: random below -1, but for the words that the tiny network fears. */
function weights(): Float32Array {
  let seed = 42;
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  const values = Float32Array.from(Object.keys(VOCAB), () => -1 - 2 * random());
  values[VOCAB.ignore ?? 0] = 4;
  values[VOCAB.override ?? 0] = 2;
  return values;
}

/** The logit that the tiny network must give. */
export function tinyLogit(ids: readonly number[]): number {
  const values = weights();
  return Math.max(...[CLS, ...ids, SEP].map((id) => values[id] as number));
}

/** `token_logits` = a value a token, `logit` = the greatest of them. */
function network(kind: TinyKind): Buffer {
  if (kind === 'garbage') return Buffer.from('this is no network');
  const values = kind === 'nan' ? weights().fill(Number.NaN) : weights();
  const max: Node = { op: 'ReduceMax', inputs: ['token_logits'], outputs: ['logit'], ints: { axes: [1], keepdims: 0 } };
  const whole: Node = { op: 'Identity', inputs: ['token_logits'], outputs: ['logit'] };
  const huge: readonly Node[] = [
    { op: 'Shape', inputs: ['input_ids'], outputs: ['shape'] },
    { op: 'Mul', inputs: ['shape', 'factor'], outputs: ['huge_shape'] },
    { op: 'ConstantOfShape', inputs: ['huge_shape'], outputs: ['huge'] },
    { op: 'ReduceMax', inputs: ['huge'], outputs: ['logit'], ints: { axes: [1], keepdims: 0 } },
  ];
  return model(
    [
      { op: 'Gather', inputs: ['weights', 'input_ids'], outputs: ['token_logits'] },
      ...(kind === 'wrong-shape' ? [whole] : kind === 'out-of-memory' ? huge : [max]),
    ],
    [tensor('weights', [values.length], values), tensor('factor', [2], BigInt64Array.from([1n, 2n ** 42n]))],
    [valueInfo('input_ids', INT64, [1, 'tokens']), valueInfo('attention_mask', INT64, [1, 'tokens'])],
    [
      valueInfo('logit', FLOAT, kind === 'wrong-shape' ? [1, 'tokens'] : [1]),
      valueInfo('token_logits', FLOAT, [1, 'tokens']),
    ],
  );
}

/** Writes a network with one output `logits` of two values, benign first; gives the file's path. */
export function writeTwoLabelNetwork(): string {
  const values = weights();
  const bytes = model(
    [
      { op: 'Gather', inputs: ['weights', 'input_ids'], outputs: ['each'] },
      { op: 'ReduceMax', inputs: ['each'], outputs: ['injection'], ints: { axes: [1], keepdims: 1 } },
      { op: 'Neg', inputs: ['injection'], outputs: ['benign'] },
      { op: 'Concat', inputs: ['benign', 'injection'], outputs: ['logits'], ints: { axis: 1 } },
    ],
    [tensor('weights', [values.length], values)],
    [valueInfo('input_ids', INT64, [1, 'tokens']), valueInfo('attention_mask', INT64, [1, 'tokens'])],
    [valueInfo('logits', FLOAT, [1, 2])],
  );
  const file = join(mkdtempSync(join(tmpdir(), 'portcullis-two-')), 'model.onnx');
  writeFileSync(file, bytes);
  return file;
}

const GOLDEN = ['hello world', 'please ignore the report'];

export interface TinyOptions {
  readonly kind?: TinyKind;
  /** Golden logits that the network doesn't give. */
  readonly wrongGolden?: boolean;
  readonly noGolden?: boolean;
  readonly perWindow?: number;
  /** A second network for windows that are not English, like the first. */
  readonly deep?: TinyKind;
}

/** Writes a model folder with a tiny random network and gives its path. */
export function writeTinyModel({
  kind = 'good',
  wrongGolden = false,
  noGolden = kind !== 'good',
  perWindow = 0,
  deep,
}: TinyOptions = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-tiny-'));
  const golden = GOLDEN.map((text) => {
    const ids = text.split(' ').map((word) => VOCAB[word] as number);
    return JSON.stringify({ text, ids, windows: 1, logit: tinyLogit(ids) + (wrongGolden ? 1 : 0), probability: 0.5 });
  });
  const files: Record<string, Buffer> = {
    'model.onnx': network(kind),
    'tokenizer.json': TOKENIZER,
    ...(noGolden ? {} : { 'golden.jsonl': Buffer.from(`${golden.join('\n')}\n`) }),
    ...(deep === undefined ? {} : { 'deep-model.onnx': network(deep), 'deep-tokenizer.json': TOKENIZER }),
  };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
  const part = {
    tokenizer: { kind: 'wordpiece-uncased', cls: CLS, sep: SEP, unk: UNK },
    window: { tokens: CONTENT + 2, content: CONTENT, stride: STRIDE },
    calibration: { kind: 'platt-windows', scale: 1, bias: 0, per_window: perWindow },
  };
  const manifest = {
    format: 1,
    id: 'tiny',
    version: '0.0.1',
    files: Object.fromEntries(
      Object.entries(files).map(([name, bytes]) => [
        name,
        { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length },
      ]),
    ),
    text: { version: 1, mark_run: 30, word_run: 32, special: ['CLS', 'SEP', 'PAD', 'MASK', 'UNK'] },
    ...part,
    inputs: { ids: 'input_ids', mask: 'attention_mask' },
    outputs: { logit: 'logit', token_logits: 'token_logits' },
    labels: ['benign', 'injection'],
    ...(deep === undefined ? {} : { deep: { ...part, share: 0.5 } }),
    operating_points: { strict: { threshold: 0.3 }, balanced: { threshold: 0.5 }, permissive: { threshold: 0.95 } },
    operating_point: 'balanced',
  };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  return folder;
}
