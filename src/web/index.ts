/** The engine for browsers, service workers and edge runtimes: rules and views as in Node, the model in WebAssembly, nothing of Node. */
import { systemClock } from '../adapters/system-clock.js';
import { createEngine as createEngineOf, type Engine, type EngineParts } from '../engine/engine.js';
import type { CompiledPack } from '../engine/rules/types.js';

export type { Channel } from '../engine/channel.js';
export type { AnalyzeOptions, Engine, ScanCallOptions } from '../engine/engine.js';
export type { EngineInfo, EngineSettings, Thresholds } from '../engine/engine-settings.js';
export { ConfigError, InputError, ModelError, type ModelErrorCode, PortcullisError } from '../engine/errors.js';
export type { ExplainedFinding, ExplainedVerdict, Explanation } from '../engine/explain.js';
export type { Input } from '../engine/input.js';
export type { Classifier, ClassifierAnswer, ClassifierInfo } from '../engine/ports.js';
export { re2Compiler as re2jsCompiler } from '../engine/rules/compile-pack.js';
export { PackError } from '../engine/rules/pack/pack-error.js';
export type { CompiledPack, Rule } from '../engine/rules/types.js';
export type { Span } from '../engine/span.js';
export type { DecidedBy, MinimalVerdict, Mode, Verdict } from '../engine/verdict.js';
export type { WarmUpOptions } from '../engine/warm-up.js';
export { type LoadModelOptions, loadModel } from './load-model.js';
export type { BytesSource } from './load-pack.js';
export { loadPack } from './load-pack.js';

/** The parts of an engine; `pack` is what `loadPack` gives. */
export interface WebEngineOptions extends Omit<Partial<EngineParts>, 'pack'> {
  readonly pack: CompiledPack;
}

/**
 * Makes an engine: without a `model` it goes by the rules alone. Its verdicts are those of the engine in Node.
 *
 * @throws ConfigError listing every invalid setting
 *
 * @example
 * ```ts
 * const engine = createEngine({ pack: await loadPack(corePack) });
 * const { verdict, reason } = engine.scan('Ignore all previous instructions.');
 * ```
 */
export function createEngine(options: WebEngineOptions): Engine {
  return createEngineOf({
    ...options,
    clock: options.clock ?? systemClock,
    newEvidenceId: options.newEvidenceId ?? newEvidenceId,
  });
}

/** As in Node: `ev_`, 11 hex digits of the time in milliseconds since 1970, 13 random ones. */
function newEvidenceId(): string {
  const random = Array.from(crypto.getRandomValues(new Uint8Array(7)), (byte) => byte.toString(16).padStart(2, '0'));
  return `ev_${Date.now().toString(16).padStart(11, '0')}${random.join('').slice(1)}`;
}
