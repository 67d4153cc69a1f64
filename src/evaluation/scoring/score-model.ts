import { availableParallelism } from 'node:os';
import { loadModel } from '../../adapters/model/load-model.js';
import { findModel } from '../../adapters/model/model-folder.js';
import { createEngine } from '../../create-engine.js';
import { TuningError } from '../tuning-error.js';

/** What the model says of one text. */
export interface ModelReading {
  /** Calibrated probability, 0..1; null where the model failed or was late. */
  readonly probability: number | null;
  /** Milliseconds of the whole call, rules included. */
  readonly millis: number;
}

/** Which model is asked. */
export interface ModelJob {
  /** A model folder; default the one that comes with the package. */
  readonly folder?: string | undefined;
  /** A probability or the name of an operating point; default the model's own. */
  readonly threshold?: number | string | undefined;
  readonly onProgress?: ((done: number) => void) | undefined;
}

/** A model's answers with what it is and the threshold it blocks at. */
export interface ModelReadings {
  readonly version: string;
  readonly threshold: number;
  readonly readings: readonly ModelReading[];
}

/** Asks the model about every text, on all cores. @throws TuningError without a model; ModelError; ConfigError */
export const scoreModel = async (texts: readonly string[], job: ModelJob): Promise<ModelReadings> => {
  const folder = job.folder ?? findModel();
  if (folder === undefined) throw new TuningError('No model is installed. Give one with --model FOLDER.');
  const processes = availableParallelism();
  const model = await loadModel(folder, { processes });
  const engine = createEngine({ model, mode: 'shadow', thresholds: { model: job.threshold }, timeoutMs: 120_000 });
  const readings: ModelReading[] = new Array(texts.length);
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    while (next < texts.length) {
      const index = next++;
      const start = performance.now();
      const { explanation } = await engine.analyze(texts[index] as string, { explain: true });
      readings[index] = { probability: explanation.model.score, millis: performance.now() - start };
      done += 1;
      job.onProgress?.(done);
    }
  };
  try {
    await engine.warmUp();
    await Promise.all(Array.from({ length: processes }, work));
    return { version: engine.info.ml_version, threshold: engine.info.ml_threshold, readings };
  } finally {
    await engine.close();
  }
};
