import { JsonText } from '../../engine/input.js';
import type { AgentAnalyzer } from '../http/agent-answers.js';
import type { CallBody, LongTextJob } from './long-text-job.js';

/** An input on its way between threads, which a class does not survive. `isToolCall`: undefined for a string. */
export interface PlainInput {
  readonly text: string;
  readonly isToolCall?: boolean | undefined;
}

/** The result of a job on its way between threads. */
export type PlainResult = string | (Omit<CallBody, 'input'> & { readonly input?: PlainInput });

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
);

export function toPlain(input: string | JsonText): PlainInput {
  return typeof input === 'string' ? { text: input } : { text: input.text, isToolCall: input.isToolCall };
}

export function fromPlain({ text, isToolCall }: PlainInput): string | JsonText {
  return isToolCall === undefined ? text : new JsonText(text, isToolCall);
}

export function toPlainResult(result: string | CallBody): PlainResult {
  if (typeof result === 'string') return result;
  const { input, ...rest } = result;
  return input === undefined ? rest : { ...rest, input: toPlain(input) };
}

export function fromPlainResult(result: PlainResult): string | CallBody {
  if (typeof result === 'string') return result;
  const { input, ...rest } = result;
  return input === undefined ? rest : { ...rest, input: fromPlain(input) };
}
