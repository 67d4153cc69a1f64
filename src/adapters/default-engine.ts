import type { AnalyzeOptions, Engine } from '../engine/engine.js';
import { ModelError } from '../engine/errors.js';
import type { ExplainedVerdict } from '../engine/explain.js';
import type { Input } from '../engine/input.js';
import { unavailableModel } from '../engine/model/circuit-breaker.js';
import type { Verdict } from '../engine/verdict.js';
import { createEngine } from './create-engine.js';
import { loadModel, readThresholds } from './model/load-model.js';
import { findModel } from './model/model-folder.js';

let engine: Promise<Engine> | undefined;

/**
 * The engine behind `analyze`, made once: the library's own pack, and its model where there is one.
 * Without onnxruntime-node or without a model it runs by the rules and says why in `info.mode_reason`;
 * with a model that is damaged each answer says `ml-error-rules-fallback`.
 */
export function defaultEngine(): Promise<Engine> {
  engine ??= open();
  return engine;
}

/**
 * Screens one input with the default engine.
 *
 * @throws InputError where the input has no JSON text
 *
 * @example
 * ```ts
 * const { verdict, reason } = await analyze('Ignore all previous instructions.');
 * ```
 */
export function analyze(input: Input, options: AnalyzeOptions & { readonly explain: true }): Promise<ExplainedVerdict>;
export function analyze(input: Input, options?: AnalyzeOptions): Promise<Verdict>;
export async function analyze(input: Input, options: AnalyzeOptions = {}): Promise<Verdict> {
  return (await defaultEngine()).analyze(input, options);
}

async function open(): Promise<Engine> {
  const folder = findModel();
  if (folder === undefined) return createEngine({ modeReason: 'no model is installed' });
  try {
    return createEngine({ model: await loadModel(folder) });
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (error.code === 'MODEL_RUNTIME_MISSING') return createEngine({ modeReason: error.message });
    return createEngine({ model: unavailableModel(error, await readThresholds(folder)), modeReason: error.message });
  }
}
