import { z } from 'zod';
import { CHANNELS, type KnownChannel } from '../channel.js';
import { ModelError } from '../errors.js';

export interface NetworkManifest {
  readonly tokenizer: {
    readonly kind: 'wordpiece-uncased' | 'wordpiece-cased';
    readonly cls: number;
    readonly sep: number;
    readonly unk: number;
  };
  /** In tokens; `tokens` counts the two special ones. */
  readonly window: { readonly tokens: number; readonly content: number; readonly stride: number };
  readonly calibration: Calibration;
  /**
   * Channels with a calibration and thresholds of their own; absent: none has. A network whose `inputs` name a channel reads the id;
   * 0 is an unknown channel.
   */
  readonly channels?: Readonly<Partial<Record<KnownChannel, ChannelManifest>>> | undefined;
  /** The last `tokens` of a task are read, and move the logit by at most `bound`; absent: it reads no task. */
  readonly task?: { readonly tokens: number; readonly bound: number } | undefined;
  /** Of a second network, absent where it has those of the first. */
  readonly inputs?: NetworkInputs | undefined;
}

export interface ChannelManifest {
  readonly id: number;
  /** Absent: the network's. */
  readonly calibration?: Calibration | undefined;
  /** Of the first network; absent: the model's. */
  readonly operating_points?: OperatingPoints | undefined;
  /** Absent: the model's. */
  readonly clears_below?: number | undefined;
}

export type OperatingPoints = Readonly<Record<string, { readonly threshold: number }>>;

/** The part of a model's `manifest.json` that a runtime goes by. @see models/training/MANIFEST.md */
export interface ModelManifest extends NetworkManifest {
  readonly format: 1;
  readonly id: string;
  readonly version: string;
  /** By file name; every file but the manifest and the model card. */
  readonly files: Readonly<Record<string, { readonly sha256: string; readonly bytes: number }>>;
  readonly text: { readonly version: 1; readonly mark_run: number; readonly word_run: number };
  readonly inputs: NetworkInputs;
  readonly outputs: { readonly logit: string; readonly token_logits?: string | undefined };
  /** A second network for windows that are not English, and the share of its log-odds there. Its files are named `deep-…`. */
  readonly deep?: (NetworkManifest & { readonly share: number }) | undefined;
  readonly operating_points: OperatingPoints;
  readonly operating_point: string;
  /** Probability below which the model clears a finding of the rules; absent: it clears none. */
  readonly clears_below?: number | undefined;
  /** Log-odds that a rules' score of 1 adds to the model's probability; absent: that of 1.0. */
  readonly rules_weight?: number | undefined;
}

/** Names of tensors; `types` and `channel` are inputs of networks that read the channel. */
export interface NetworkInputs {
  readonly ids: string;
  readonly mask: string;
  readonly types?: string | undefined;
  readonly channel?: string | undefined;
}

/**
 * `probability = sigmoid(scale * logit + bias - per_window * ln(windows) * penalty + derived)`, where penalty is
 * `max(0, sure - the window's token confidence)`, or 1 without `sure`.
 */
export interface Calibration {
  readonly kind: 'platt-windows';
  readonly scale: number;
  readonly bias: number;
  readonly per_window: number;
  /** Token confidence from which on a long text is treated like a short one. */
  readonly sure?: number | undefined;
  /** Log-odds added for a decoded reading; see `DEFAULT_DERIVED`. */
  readonly derived?: number | undefined;
}

/** Prefix of the names of the second network's files. */
export const DEEP = 'deep-';

function namesFiles(files: ModelManifest['files'], prefix: string): boolean {
  return ['model.onnx', 'tokenizer.json'].every((name) => Object.hasOwn(files, prefix + name));
}

const count = z.int().min(0);
const tensorName = z.string().min(1);
/** No folders and no dots in front, so that a manifest can't point outside its folder. */
const fileName = z.string().regex(/^[A-Za-z0-9][\w.-]*$/);

const calibration = z.object({
  kind: z.literal('platt-windows'),
  scale: z.number().positive(),
  bias: z.number(),
  per_window: z.number().min(0),
  sure: z.number().optional(),
  derived: z.number().optional(),
});
const operatingPoints = z.record(z.string().min(1), z.object({ threshold: z.number().min(0).max(1) }));
const channel = z.object({
  id: count.min(1),
  calibration: calibration.optional(),
  operating_points: operatingPoints.optional(),
  clears_below: z.number().min(0).max(1).optional(),
});

const networkInputs = z
  .object({ ids: tensorName, mask: tensorName, types: tensorName.optional(), channel: tensorName.optional() })
  .refine(({ types, channel: id }) => (types === undefined) === (id === undefined), {
    message: 'must name both `types` and `channel` or neither',
  });

const network = {
  tokenizer: z.object({ kind: z.enum(['wordpiece-uncased', 'wordpiece-cased']), cls: count, sep: count, unk: count }),
  window: z
    .object({ tokens: count.min(3), content: count.min(1), stride: count.min(1) })
    .refine((it) => it.content <= it.tokens - 2, {
      message: 'a window must leave room for its two special tokens',
      path: ['content'],
    })
    .refine((it) => it.stride <= it.content, { message: 'windows must not leave gaps', path: ['stride'] }),
  calibration,
  channels: z.partialRecord(z.enum(CHANNELS), channel).optional(),
  task: z.object({ tokens: count.min(1), bound: z.number().min(0) }).optional(),
};

const schema = z
  .object({
    ...network,
    format: z.literal(1),
    id: z.string().regex(/^[a-z0-9][a-z0-9.-]*$/i),
    version: z.string().min(1),
    files: z.record(fileName, z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: count })),
    text: z.object({ version: z.literal(1), mark_run: count.min(1), word_run: count.min(1).max(100) }),
    inputs: networkInputs,
    outputs: z.object({ logit: tensorName, token_logits: tensorName.optional() }),
    deep: z.object({ ...network, inputs: networkInputs.optional(), share: z.number().min(0).max(1) }).optional(),
    operating_points: operatingPoints,
    operating_point: z.string().min(1),
    clears_below: z.number().min(0).max(1).optional(),
    rules_weight: z.number().min(0).max(10).optional(),
  })
  .refine((it) => it.outputs.token_logits !== undefined || calibrations(it).every(({ sure }) => sure === undefined), {
    message: 'asks for token logits that `outputs` does not name',
    path: ['calibration', 'sure'],
  })
  .refine((it) => Object.hasOwn(it.operating_points, it.operating_point), {
    message: 'names no operating point of `operating_points`',
    path: ['operating_point'],
  })
  .refine((it) => [it, it.deep].every((one) => one?.task === undefined || one.channels !== undefined), {
    message: 'is read by networks with `channels` only',
    path: ['task'],
  })
  .refine(
    ({ task, deep, inputs }) =>
      [
        { task, inputs },
        { task: deep?.task, inputs: deep?.inputs ?? inputs },
      ].every((one) => one.task === undefined || one.inputs.channel !== undefined),
    { message: 'must name `types` and `channel` for a network with `task`', path: ['inputs'] },
  )
  .refine(
    ({ channels = {}, operating_points: points }) =>
      Object.values(channels).every(({ operating_points: own = points }) =>
        Object.keys(points).every((name) => Object.hasOwn(own, name)),
      ),
    { message: 'must have every operating point of `operating_points` in each channel', path: ['channels'] },
  )
  .refine((it) => namesFiles(it.files, ''), { message: 'must list `model.onnx` and `tokenizer.json`', path: ['files'] })
  .refine((it) => it.deep === undefined || namesFiles(it.files, DEEP), {
    message: 'must list `deep-model.onnx` and `deep-tokenizer.json`',
    path: ['files'],
  });

function calibrations(it: Pick<ModelManifest, 'calibration' | 'channels' | 'deep'>): readonly Calibration[] {
  return [it, ...(it.deep === undefined ? [] : [it.deep])].flatMap(({ calibration, channels = {} }) => [
    calibration,
    ...Object.values(channels).flatMap((channel) => channel.calibration ?? []),
  ]);
}

/**
 * Reads the text of a `manifest.json`; fields that no runtime needs are ignored.
 *
 * @throws ModelError `MODEL_MANIFEST` with every mistake
 */
export function parseManifest(text: string): ModelManifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ModelError('MODEL_MANIFEST', 'manifest.json is not valid JSON', { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'manifest'}: ${issue.message}`);
  throw new ModelError('MODEL_MANIFEST', `manifest.json is not valid: ${issues.join('; ')}`);
}
