import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ModelError } from '../../engine/errors.js';
import type { WindowInput } from '../../engine/ports.js';
import { EXACT_SUMS, type Network, type NetworkShape, type OnnxRuntime, startNetwork } from './network.js';

/** The network to load, and its digest. */
export interface NetworkSpec extends NetworkShape {
  readonly file: string;
  readonly sha256: string;
}

/** One window at a time, a peak of memory that isn't kept, and equal results on every x64 CPU. */
const SESSION_OPTIONS = {
  executionProviders: ['cpu'],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  enableCpuMemArena: false,
  enableMemPattern: false,
  logSeverityLevel: 4,
  ...EXACT_SUMS,
} as const satisfies import('onnxruntime-node').InferenceSession.SessionOptions;

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
  if (hash('sha256', bytes) !== spec.sha256) {
    throw new ModelError('MODEL_DIGEST', "the network's file differs from its sha256 in the manifest");
  }
  const session = await runtime.InferenceSession.create(bytes, SESSION_OPTIONS).catch((cause: unknown) => {
    throw new ModelError('MODEL_LOAD', 'the runtime refused the network', { cause });
  });
  return startNetwork(runtime, session, spec);
}

/** @throws ModelError `MODEL_RUNTIME_MISSING` where the optional package isn't there or can't be loaded */
async function importRuntime(): Promise<OnnxRuntime> {
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

/** A request to a model worker. */
export type ToChild =
  | { readonly kind: 'load'; readonly spec: NetworkSpec }
  | { readonly kind: 'run'; readonly window: WindowInput };
