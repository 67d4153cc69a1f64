import { join } from 'node:path';
import { ModelError } from '../../engine/errors.js';
import { createWindowClassifier } from '../../engine/model/window-classifier.js';
import type { Classifier } from '../../engine/ports.js';
import { systemClock } from '../system-clock.js';
import { checkGoldenTokens } from './golden-vectors.js';
import { createInlineScorer } from './inline-scorer.js';
import { readModelFile, readModelFolder } from './model-files.js';
import type { NetworkSpec } from './onnx-network.js';
import { createProcessScorer, type ProcessScorerOptions } from './process-scorer.js';
import { readTokenizer } from './tokenizer-file.js';

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
      thresholds: Object.fromEntries(
        Object.entries(manifest.operating_points).map(([name, { threshold }]) => [name, threshold]),
      ),
      defaultOperatingPoint: manifest.operating_point,
    },
    manifest,
    tokenizer,
    scorer: options.isolation === 'inline' ? createInlineScorer(spec) : createProcessScorer(spec, options),
    clock: options.clock ?? systemClock,
  });
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
