import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ModelError, type ModelErrorCode } from '../../engine/errors.js';
import type { WindowScore } from '../../engine/ports.js';

/** A window whose logit is known, to prove that this machine computes what the training's did. */
export interface GoldenWindow {
  /** With the special tokens at both ends. */
  readonly ids: readonly number[];
  readonly logit: number;
}

/** What to load, and how to know it. */
export interface NetworkSpec {
  readonly file: string;
  readonly sha256: string;
  readonly inputs: { readonly ids: string; readonly mask: string };
  readonly outputs: { readonly logit: string; readonly token_logits?: string | undefined };
  readonly golden: readonly GoldenWindow[];
}

/** A loaded network. One run at a time. */
export interface Network {
  run(ids: readonly number[]): Promise<WindowScore>;
  close(): Promise<void>;
}

/** How far a logit may lie from the golden one: builds of the runtime round differently, by 0.03 between 1.23 and 1.30. */
const GOLDEN_TOLERANCE = 0.1;

/** Threads and memory: one window at a time, and a peak that isn't kept. */
const SESSION_OPTIONS = {
  executionProviders: ['cpu'],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  enableCpuMemArena: false,
  enableMemPattern: false,
  logSeverityLevel: 4,
} as const;

type Runtime = typeof import('onnxruntime-node');
type Tensor = import('onnxruntime-node').Tensor;

/**
 * Loads a network from bytes whose sha256 was checked, and tries it on the golden windows.
 *
 * @throws ModelError `MODEL_RUNTIME_MISSING`, `MODEL_MISSING`, `MODEL_DIGEST`, `MODEL_LOAD`, `MODEL_OUTPUT`, `MODEL_GOLDEN`
 */
export async function openNetwork(spec: NetworkSpec): Promise<Network> {
  const runtime = await importRuntime();
  const bytes = await readFile(spec.file).catch((cause: unknown) => {
    throw new ModelError('MODEL_MISSING', "the network's file can't be read", { cause });
  });
  if (createHash('sha256').update(bytes).digest('hex') !== spec.sha256) {
    throw new ModelError('MODEL_DIGEST', "the network's file differs from its sha256 in the manifest");
  }
  const session = await runtime.InferenceSession.create(bytes, SESSION_OPTIONS).catch((cause: unknown) => {
    throw new ModelError('MODEL_LOAD', 'the runtime refused the network', { cause });
  });
  const run = async (ids: readonly number[]): Promise<WindowScore> => {
    const shape = [1, ids.length];
    const feeds = {
      [spec.inputs.ids]: new runtime.Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
      [spec.inputs.mask]: new runtime.Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
    };
    const outputs = await session.run(feeds).catch((cause: unknown) => {
      throw new ModelError('MODEL_FAILED', 'the runtime failed on a window', { cause });
    });
    const [logit] = readFloats(outputs[spec.outputs.logit], [1]);
    const tokens = spec.outputs.token_logits;
    const tokenLogits = tokens === undefined ? undefined : readFloats(outputs[tokens], shape);
    return { logit: logit as number, tokenLogits };
  };
  await checkGolden(run, spec.golden);
  return { run, close: () => session.release() };
}

/** @throws ModelError `MODEL_RUNTIME_MISSING` where the optional package isn't there or can't be loaded */
async function importRuntime(): Promise<Runtime> {
  try {
    return await import('onnxruntime-node');
  } catch (cause) {
    throw new ModelError(
      'MODEL_RUNTIME_MISSING',
      "the optional package onnxruntime-node isn't installed or can't be loaded; `npm install onnxruntime-node` adds it",
      { cause },
    );
  }
}

function readFloats(tensor: Tensor | undefined, shape: readonly number[]): readonly number[] {
  if (tensor?.type !== 'float32' || tensor.dims.join() !== shape.join()) {
    throw new ModelError('MODEL_OUTPUT', 'an output of the network has another type or shape than the manifest says');
  }
  const values = Array.from(tensor.data as Float32Array);
  if (!values.every(Number.isFinite))
    throw new ModelError('MODEL_OUTPUT', 'the network gave a value that is no number');
  return values;
}

async function checkGolden(run: Network['run'], golden: readonly GoldenWindow[]): Promise<void> {
  for (const { ids, logit } of golden) {
    const score = await run(ids);
    if (!(Math.abs(score.logit - logit) <= GOLDEN_TOLERANCE)) {
      throw new ModelError('MODEL_GOLDEN', "the network doesn't give its golden values on this machine");
    }
  }
}

/** What the parent says to the scoring child. */
export type ToChild =
  | { readonly kind: 'load'; readonly spec: NetworkSpec }
  | { readonly kind: 'run'; readonly ids: readonly number[] };

/** What the child answers, one message for each of the parent's. */
export type FromChild =
  | { readonly kind: 'ready' }
  | { readonly kind: 'score'; readonly score: WindowScore; readonly rssBytes: number }
  | { readonly kind: 'failed'; readonly code: ModelErrorCode; readonly message: string };
