import { z } from 'zod';
import { CHANNELS } from '../../engine/channel.js';
import { ModelError } from '../../engine/errors.js';
import { openNetworks } from '../../engine/model/cascade.js';
import { createWindowClassifier } from '../../engine/model/window-classifier.js';
import type { Classifier, ClassifierInfo, WindowScorer } from '../../engine/ports.js';
import { systemClock } from '../system-clock.js';
import { findModel, findModelFile, readModelFile, readModelFolder } from './model-folder.js';
import { classifierInfo, readNetworkTexts, thresholdsIn } from './model-texts.js';
import { openLazily } from './network.js';
import { type NetworkSpec, openNetwork } from './onnx-network.js';
import { createModelLimit, createProcessScorer, type ProcessScorerOptions } from './process-scorer.js';

/** Options for running a model. */
export interface LoadModelOptions extends Omit<ProcessScorerOptions, 'threads'> {
  /**
   * `process` (default): in a child that can be killed. `thread`: in a thread, whose replies are back sooner; a crash of the
   * runtime ends this process, and a run that hangs goes on. `inline`: in this thread, blocking its event loop.
   */
  readonly isolation?: 'process' | 'thread' | 'inline' | undefined;
}

/**
 * Opens a model in this package's format, by its folder or a name that `findModel` takes. Every file is checked against the manifest's sha256;
 * the network itself is loaded, and tried on its golden vectors, by `warmUp` or with the first text.
 *
 * @throws ModelError `MODEL_MISSING`, `MODEL_MANIFEST`, `MODEL_DIGEST`, `MODEL_GOLDEN`, `MODEL_RUNTIME_MISSING`
 * @example
 * ```ts
 * const model = await loadModel('portcullis-minilm-1', { isolation: 'thread' });
 * const engine = createEngine({ model });
 * ```
 */
export async function loadModel(named: string, options: LoadModelOptions = {}): Promise<Classifier> {
  const folder = findModel(named) ?? named;
  const { manifest, version } = await readModelFolder(folder);
  requireRuntime();
  const read = async (name: string): Promise<string> => (await readModelFile(folder, name)).toString('utf8');
  const clock = options.clock ?? systemClock;
  return openNetworks(manifest, clock, async (network, prefix) => {
    const { tokenizer, shape } = await readNetworkTexts(manifest, network, prefix, read);
    const file = `${prefix}model.onnx`;
    const spec: NetworkSpec = {
      file: findModelFile(folder, file),
      sha256: manifest.files[file]?.sha256 ?? '',
      ...shape,
    };
    const scorer =
      options.isolation === 'inline'
        ? createInlineScorer(spec)
        : createProcessScorer(spec, { ...options, threads: options.isolation === 'thread' });
    return createWindowClassifier({
      info: classifierInfo(manifest, version),
      manifest: network,
      tokenizer,
      scorer,
      clock,
    });
  });
}

const operatingPoints = z.record(z.string(), z.object({ threshold: z.number().min(0).max(1) }));
const thresholdsSchema = z.object({
  operating_points: operatingPoints,
  operating_point: z.string(),
  channels: z.partialRecord(z.enum(CHANNELS), z.object({ operating_points: operatingPoints.optional() })).optional(),
});

/** The thresholds in the manifest of a model that may be damaged; undefined where they can't be read. */
export async function readThresholds(
  folder: string,
): Promise<Pick<ClassifierInfo, 'thresholds' | 'channelThresholds' | 'defaultOperatingPoint'> | undefined> {
  try {
    const text = (await readModelFile(folder, 'manifest.json')).toString('utf8');
    return thresholdsIn(thresholdsSchema.parse(JSON.parse(text)));
  } catch {
    // Why it can't be read is told by `loadModel`.
    return undefined;
  }
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

/**
 * Scores windows in this process: no fork, but each run blocks the event loop (8 to 40 ms a window), and a
 * crash of the runtime is a crash of the program. For short-lived programs and trusted models.
 */
function createInlineScorer(spec: NetworkSpec): WindowScorer {
  const limit = createModelLimit([undefined], systemClock);
  const { load, ...lifetime } = openLazily(
    () => openNetwork(spec),
    (network) => network.close(),
  );
  const score: WindowScorer['score'] = (window, { timeoutMs }) =>
    limit(async () => (await load()).run(window), timeoutMs);
  return { ...lifetime, score };
}
