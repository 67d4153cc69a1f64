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

export type ToLongTextThread =
  | { readonly kind: 'job'; readonly id: number; readonly job: LongTextJob }
  /** The answer to a `question`; without a verdict the screening failed. */
  | {
      readonly kind: 'answer';
      readonly question: number;
      readonly verdict?: Awaited<ReturnType<AgentAnalyzer['analyze']>>;
    };

export type FromLongTextThread =
  | { readonly kind: 'done'; readonly id: number; readonly result: PlainResult }
  /** The body isn't what its route takes: status 400. */
  | { readonly kind: 'refused'; readonly id: number; readonly message: string }
  | { readonly kind: 'failed'; readonly id: number; readonly error: unknown }
  /** Is this text to be blocked? */
  | {
      readonly kind: 'question';
      readonly id: number;
      readonly question: number;
      readonly input: PlainInput;
      readonly options: Parameters<AgentAnalyzer['analyze']>[1];
    };

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
