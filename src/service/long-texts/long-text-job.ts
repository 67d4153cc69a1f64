import { type Input, type JsonText, toJsonText } from '../../engine/input.js';
import { masked } from '../../evidence/keep-input.js';
import { type JointEnds, readEnds } from '../../policy/run/pieces/joints.js';
import { type AgentAnalyzer, type AgentCall, answerAgent } from '../http/agent-answers.js';
import { readJsonObject } from '../http/json-body.js';
import { type FollowedText, followRun, type RunStep } from '../screening/follow-run.js';
import { fromPlain, type PlainInput } from './plain-input.js';

/** UTF-16 code units, or bytes: what is longer takes a thread for more than a millisecond or two. */
export const LONG: number = 32 * 1024;

/** Something that takes as long as a text is. */
export type LongTextJob =
  /** Reads the body of a screening call. */
  | { readonly kind: 'call'; readonly body: Uint8Array }
  /** Answers an agent that sent a body. */
  | { readonly kind: 'agent'; readonly body: Uint8Array; readonly call: AgentCall }
  | { readonly kind: 'mask'; readonly text: string }
  /** Follows the values of a run through a text. */
  | { readonly kind: 'flow'; readonly step: RunStep }
  /** Reads where a text may go on with others. */
  | { readonly kind: 'ends'; readonly input: PlainInput };

/** The body of a call; the response to an agent as JSON; the masked text; what became of the values; the ends of a text. */
export type LongTextResult = string | CallBody | FollowedText | JointEnds;

/** The members of a call's body that its route reads, as they were sent; an input that is no string in canonical form. */
export interface CallBody {
  readonly input?: string | JsonText;
  readonly channel?: unknown;
  readonly task?: unknown;
  readonly run_id?: unknown;
  readonly tool?: unknown;
  readonly effect?: unknown;
}

/** Does it. @throws HttpError 400 where the body isn't what its route takes */
export async function doLongTextJob(job: LongTextJob, analyzer: AgentAnalyzer): Promise<LongTextResult> {
  switch (job.kind) {
    case 'call': {
      const { input, channel, task, run_id, tool, effect } = readJsonObject(job.body, CALL) as Omit<
        CallBody,
        'input'
      > & { input?: Input };
      return {
        ...(input === undefined ? {} : { input: typeof input === 'string' ? input : toJsonText(input) }),
        ...(channel === undefined ? {} : { channel }),
        ...(task === undefined ? {} : { task }),
        ...(run_id === undefined ? {} : { run_id }),
        ...(tool === undefined ? {} : { tool }),
        ...(effect === undefined ? {} : { effect }),
      };
    }
    case 'agent':
      return answerAgent(job.call, readJsonObject(job.body, 'a JSON object'), analyzer);
    case 'mask':
      return masked(job.text);
    case 'flow':
      return followRun(job.step);
    case 'ends':
      return readEnds(fromPlain(job.input));
  }
}

/** The expected body of a screening call, for messages. */
export const CALL = 'a JSON object with `input`';
