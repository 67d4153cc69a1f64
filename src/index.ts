/** Screens text for prompt injection before it reaches a tool. */

export { createEngine, type EngineOptions } from './adapters/create-engine.js';
export { analyze, defaultEngine } from './adapters/default-engine.js';
export { type LoadModelOptions, loadModel } from './adapters/model/load-model.js';
export { findModel } from './adapters/model/model-folder.js';
export type { LoadOptions } from './adapters/packs/load-pack.js';
export { openPack as loadPack } from './adapters/packs/open-pack.js';
export { JsonNumber, type JsonValue } from './engine/canonical-json.js';
export type { Channel } from './engine/channel.js';
export type { RouterLevel } from './engine/decide.js';
export type { AnalyzeOptions, Engine, ScanCallOptions } from './engine/engine.js';
export type { EngineInfo, EngineSettings, Thresholds } from './engine/engine-settings.js';
export { ConfigError, InputError, ModelError, type ModelErrorCode, PortcullisError } from './engine/errors.js';
export type {
  ExplainedFinding,
  ExplainedUnseen,
  ExplainedVerdict,
  ExplainedWindow,
  Explanation,
  ModelReport,
} from './engine/explain.js';
export { type Input, inputText, JsonText, type ToolCall, toJsonText } from './engine/input.js';
export type { EngineLimits } from './engine/limits.js';
export { unavailableModel } from './engine/model/circuit-breaker.js';
export type { Classifier, ClassifierAnswer, ClassifierInfo, ClassifyOptions, Clock } from './engine/ports.js';
export { compilePack, re2Compiler } from './engine/rules/compile-pack.js';
export { PackError, type PackProblem } from './engine/rules/pack/pack-error.js';
export type { CompiledPack, Pack, Rule, Severity } from './engine/rules/types.js';
export type { Span } from './engine/span.js';
export {
  type DecidedBy,
  type MinimalVerdict,
  type Mode,
  minimalVerdictSchema,
  toMinimal,
  type Verdict,
  verdictSchema,
} from './engine/verdict.js';
export type { WarmUpOptions } from './engine/warm-up.js';
