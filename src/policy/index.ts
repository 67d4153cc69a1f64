/** One policy for all layers of an agent. The integrations (`portcullis/ai-sdk` and so on) take a guard. */

export type { Unreadable } from './content.js';
export {
  createGuard,
  type Guard,
  type GuardInfo,
  type Run,
  type RunOptions,
} from './guard.js';
export {
  allowCall,
  type DocumentText,
  guardDocuments,
  guardFunction,
} from './guard-function.js';
export type { GuardOptions } from './guard-options.js';
export { STREAM_WINDOW } from './guard-stream.js';
export {
  type Action,
  DEFAULT_POLICY,
  type Decision,
  type Enforcement,
  type GuardEvent,
  newestTurn,
  type OutputStream,
  type Point,
  type Policy,
  PortcullisBlocked,
  passes,
  type ScreenCall,
} from './policy.js';
export type { FlowQuestion, OnAsk } from './run/ask.js';
export type { KnownEffect, KnownTool } from './run/effects.js';
export type { Flow } from './run/flow.js';
export type { FlowPolicy } from './run/flow-policy.js';
export type { Judge, JudgeEndpoint, Judgement, JudgeQuestion } from './run/judge.js';
export type { Leak } from './run/output/leaks.js';
export type { Origin, RunEntry, RunLog, RunText, RunTextLog, ValueKind } from './run/run-state.js';
export type { AcceptedValue, Effect, ToolPolicy } from './run/tool-policy.js';
export { errorText, screenedError } from './screened-error.js';
export type { Analyzer, CacheOptions, ReportedFinding } from './screener.js';
