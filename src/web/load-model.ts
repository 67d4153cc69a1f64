import { classifierInfo, readNetworkTexts } from '../adapters/model/model-texts.js';
import { type Network, type OnnxRuntime, openLazily, startNetwork } from '../adapters/model/network.js';
import { systemClock } from '../adapters/system-clock.js';
import { ModelError } from '../engine/errors.js';
import { createLimit } from '../engine/limit.js';
import { openNetworks } from '../engine/model/cascade.js';
import { parseManifest } from '../engine/model/manifest.js';
import { createWindowClassifier } from '../engine/model/window-classifier.js';
import type { Classifier, WindowScorer } from '../engine/ports.js';
import { fetchBytes } from './load-pack.js';

/** Options for loading and running a model. */
export interface LoadModelOptions {
  /** Gives a file of the model folder by its name. Default: fetched from below the folder's address. */
  readonly readFile?: ((name: string) => Promise<Uint8Array<ArrayBuffer>>) | undefined;
  /** Default: `onnxruntime-web/wasm`, imported when the model is first needed. */
  readonly runtime?: (() => Promise<OnnxRuntime>) | undefined;
}

/**
 * Opens a model folder in this package's format, by its address. Every file is checked against the manifest's sha256. The
 * network is loaded, and tried on its golden vectors, by `warmUp` or with the first text. It runs in the caller's thread and
 * blocks it for a window at a time: use it in a worker.
 *
 * @throws ModelError `MODEL_MISSING`, `MODEL_MANIFEST`, `MODEL_DIGEST`, `MODEL_GOLDEN`
 */
export async function loadModel(folder: string | URL, options: LoadModelOptions = {}): Promise<Classifier> {
  const fetchFile = (name: string): Promise<Uint8Array<ArrayBuffer>> =>
    fetchBytes(`${folder}`.replace(/\/*$/, `/${name}`));
  const read = async (name: string): Promise<Uint8Array<ArrayBuffer>> => {
    try {
      return await (options.readFile ?? fetchFile)(name);
    } catch (cause) {
      throw new ModelError('MODEL_MISSING', `the model folder has no readable ${name}`, { cause });
    }
  };
  const manifestBytes = await read('manifest.json');
  const manifest = parseManifest(decode(manifestBytes));
  const readChecked = async (name: string): Promise<Uint8Array<ArrayBuffer>> => {
    const bytes = await read(name);
    if ((await sha256(bytes)) !== manifest.files[name]?.sha256) {
      throw new ModelError('MODEL_DIGEST', `${name} differs from its sha256 in the manifest`);
    }
    return bytes;
  };
  const readText = async (name: string): Promise<string> => decode(await readChecked(name));
  const version = `${manifest.id}-${manifest.version}+${(await sha256(manifestBytes)).slice(0, 12)}`;
  return openNetworks(manifest, systemClock, async (network, prefix) => {
    const { tokenizer, shape } = await readNetworkTexts(manifest, network, prefix, readText);
    const open = async (): Promise<Network> => {
      const runtime = await (options.runtime ?? importRuntime)();
      const bytes = await readChecked(`${prefix}model.onnx`);
      const session = await runtime.InferenceSession.create(bytes, SESSION_OPTIONS).catch((cause: unknown) => {
        throw new ModelError('MODEL_LOAD', 'the runtime refused the network', { cause });
      });
      return startNetwork(runtime, session, shape);
    };
    return createWindowClassifier({
      info: classifierInfo(manifest, version),
      manifest: network,
      tokenizer,
      scorer: createScorer(open),
      clock: systemClock,
    });
  });
}

const SESSION_OPTIONS = {
  executionProviders: ['wasm'],
  enableCpuMemArena: false,
  enableMemPattern: false,
} as const satisfies import('onnxruntime-web').InferenceSession.SessionOptions;

async function importRuntime(): Promise<OnnxRuntime> {
  try {
    const runtime = await import('onnxruntime-web/wasm');
    // More threads need a page that is isolated from others; one is what the other builds use, too.
    runtime.env.wasm.numThreads = 1;
    return runtime;
  } catch (cause) {
    throw new ModelError(
      'MODEL_RUNTIME_MISSING',
      "the optional package onnxruntime-web isn't installed or can't be loaded; `npm install onnxruntime-web` adds it",
      { cause },
    );
  }
}

/** Scores windows one after the other: a session takes one run at a time. */
function createScorer(open: () => Promise<Network>): WindowScorer {
  const inTurn = createLimit([undefined]);
  const { load, ...lifetime } = openLazily(open, (network) => network.close());
  return { ...lifetime, score: (window) => inTurn(async () => (await load()).run(window)) };
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  // Browsers have it on https and localhost alone.
  if (globalThis.crypto?.subtle === undefined) {
    throw new ModelError('MODEL_DIGEST', "the model can't be checked: open the page over https or from localhost");
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
