import type { RunText } from '../../policy/index.js';
import type { AgentAnalyzer } from '../http/agent-answers.js';
import type { CallBody, LongTextJob, LongTextResult } from './long-text-job.js';
import { fromPlain, type PlainInput, toPlain } from './plain-input.js';

/** The result of a job on its way between threads. */
export type PlainResult =
  | Exclude<LongTextResult, CallBody>
  | (Omit<CallBody, 'input'> & { readonly input?: PlainInput });

/** A request to the thread: a job, answered by its result. */
export interface JobRequest {
  readonly id: number;
  readonly job: LongTextJob;
}

/** A request of the thread: a call of a function of the job's `AgentAnalyzer`, answered by its result. */
export type Question = { readonly id: number } & (
  | {
      readonly kind: 'analyze';
      readonly input: PlainInput;
      readonly options: Parameters<AgentAnalyzer['analyze']>[1];
    }
  | { readonly kind: 'read'; readonly runId: string }
  | { readonly kind: 'add'; readonly runId: string; readonly entries: Parameters<AgentAnalyzer['add']>[1] }
  | { readonly kind: 'readTexts'; readonly runId: string; readonly name?: string | undefined }
  | { readonly kind: 'addText'; readonly runId: string; readonly text: RunText }
);

export function toPlainResult(result: LongTextResult): PlainResult {
  if (typeof result === 'string' || 'recorded' in result || 'end' in result) return result;
  const { input, ...rest } = result;
  return input === undefined ? rest : { ...rest, input: toPlain(input) };
}

export function fromPlainResult(result: PlainResult): LongTextResult {
  if (typeof result === 'string' || 'recorded' in result || 'end' in result) return result;
  const { input, ...rest } = result;
  return input === undefined ? rest : { ...rest, input: fromPlain(input) };
}
