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
export function tinyLogit(ids: readonly number[], channel = 0, task: readonly number[] = []): number {
  const values = weights();
  const greatest = (of: readonly number[]): number => Math.max(...of.map((id) => values[id] as number));
  const fear = task.length === 0 ? 0 : Math.max(0, greatest(task));
  return greatest([CLS, ...ids, SEP]) + (CHANNEL_SHIFTS[channel] as number) - TASK_BOUND * Math.tanh(fear);
}

/** By the channel's id: unknown, user, document and tool result, tool call, instructions. */
const CHANNEL_SHIFTS = [0, -3, 1, 0.5, -1];
const TASK_BOUND = 2;

/** The tiny network with a shift by the channel, less by a task with a word that it fears. */
function channelNetwork(): Buffer {
  const values = weights();
  const max = { axes: [1], keepdims: 0 };
  return model(
    [
      { op: 'Gather', inputs: ['weights', 'input_ids'], outputs: ['token_logits'] },
      { op: 'Cast', inputs: ['token_type_ids'], outputs: ['of_task'], ints: { to: FLOAT } },
      { op: 'Mul', inputs: ['of_task', 'far'], outputs: ['away'] },
      { op: 'Sub', inputs: ['token_logits', 'away'], outputs: ['window'] },
      { op: 'ReduceMax', inputs: ['window'], outputs: ['window_logit'], ints: max },
      { op: 'Mul', inputs: ['token_logits', 'of_task'], outputs: ['task'] },
      { op: 'ReduceMax', inputs: ['task'], outputs: ['task_logit'], ints: max },
      { op: 'Tanh', inputs: ['task_logit'], outputs: ['squashed'] },
      { op: 'Mul', inputs: ['squashed', 'bound'], outputs: ['task_shift'] },
      { op: 'Gather', inputs: ['shifts', 'channel'], outputs: ['channel_shift'] },
      { op: 'Sub', inputs: ['window_logit', 'task_shift'], outputs: ['without_channel'] },
      { op: 'Add', inputs: ['without_channel', 'channel_shift'], outputs: ['logit'] },
    ],
    [
      tensor('weights', [values.length], values),
      tensor('far', [1], Float32Array.of(100)),
      tensor('bound', [1], Float32Array.of(TASK_BOUND)),
      tensor('shifts', [CHANNEL_SHIFTS.length], Float32Array.from(CHANNEL_SHIFTS)),
    ],
    [
      ...['input_ids', 'attention_mask', 'token_type_ids'].map((name) => valueInfo(name, INT64, [1, 'tokens'])),
      valueInfo('channel', INT64, [1]),
    ],
    [valueInfo('logit', FLOAT, [1]), valueInfo('token_logits', FLOAT, [1, 'tokens'])],
  );
}

/** What a manifest says of `channelNetwork`. */
const CHANNELS = {
  task: { tokens: 3, bound: TASK_BOUND },
  channels: {
    user: {
      id: 1,
      operating_points: { strict: { threshold: 0.2 }, balanced: { threshold: 0.8 }, permissive: { threshold: 0.9 } },
    },
    document: { id: 2, calibration: { kind: 'platt-windows', scale: 1, bias: 1, per_window: 0 } },
    tool_result: { id: 2 },
    tool_call: { id: 3 },
    instructions: { id: 4 },
  },
};

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

interface GoldenText {
  readonly text: string;
  readonly channel?: string;
  readonly task?: string;
}
const GOLDEN: readonly GoldenText[] = [{ text: 'hello world' }, { text: 'please ignore the report' }];
/** The network reads the last three tokens of the task. */
const CHANNEL_GOLDEN: readonly GoldenText[] = [
  ...GOLDEN,
  { text: 'hello world', channel: 'user' },
  { text: 'please ignore the report', channel: 'tool_result', task: 'override hello the world' },
  { text: 'please ignore the report', channel: 'document', task: 'hello please override' },
];
const idsOf = (text: string): readonly number[] => text.split(' ').map((word) => VOCAB[word] as number);

export interface TinyOptions {
  readonly kind?: TinyKind;
  /** Golden logits that the network doesn't give. */
  readonly wrongGolden?: boolean;
  readonly noGolden?: boolean;
  readonly perWindow?: number;
  /** The network reads the channel and the task. */
  readonly channels?: boolean;
  /** A second network for windows that are not English: like the first, or one that reads no channel. */
  readonly deep?: TinyKind | 'plain';
}

/** Writes a model folder with a tiny random network and gives its path. */
export function writeTinyModel({
  kind = 'good',
  wrongGolden = false,
  noGolden = kind !== 'good',
  perWindow = 0,
  channels = false,
  deep,
}: TinyOptions = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-tiny-'));
  const golden = (channels ? CHANNEL_GOLDEN : GOLDEN).map(({ text, channel, task }) => {
    const ids = idsOf(text);
    const id = Object.entries(CHANNELS.channels).find(([name]) => name === channel)?.[1].id ?? 0;
    const logit = tinyLogit(ids, id, task === undefined ? [] : idsOf(task).slice(-CHANNELS.task.tokens));
    return JSON.stringify({
      text,
      channel,
      task,
      ids,
      windows: 1,
      logit: logit + (wrongGolden ? 1 : 0),
      probability: 0.5,
    });
  });
  const files: Record<string, Buffer> = {
    'model.onnx': channels ? channelNetwork() : network(kind),
    'tokenizer.json': TOKENIZER,
    ...(noGolden ? {} : { 'golden.jsonl': Buffer.from(`${golden.join('\n')}\n`) }),
    ...(deep === undefined
      ? {}
      : {
          'deep-model.onnx': channels && deep === 'good' ? channelNetwork() : network(deep === 'plain' ? 'good' : deep),
          'deep-tokenizer.json': TOKENIZER,
        }),
  };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
  const part = {
    tokenizer: { kind: 'wordpiece-uncased', cls: CLS, sep: SEP, unk: UNK },
    window: { tokens: CONTENT + 2, content: CONTENT, stride: STRIDE },
    calibration: { kind: 'platt-windows', scale: 1, bias: 0, per_window: perWindow },
    ...(channels ? CHANNELS : {}),
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
    inputs: {
      ids: 'input_ids',
      mask: 'attention_mask',
      ...(channels ? { types: 'token_type_ids', channel: 'channel' } : {}),
    },
    outputs: { logit: 'logit', token_logits: 'token_logits' },
    labels: ['benign', 'injection'],
    ...(deep === undefined ? {} : { deep: { ...part, share: 0.5 } }),
    operating_points: { strict: { threshold: 0.3 }, balanced: { threshold: 0.5 }, permissive: { threshold: 0.95 } },
    operating_point: 'balanced',
  };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  return folder;
}
