import { canonicalJson } from '../../engine/canonical-json.js';
import type { Input } from '../../engine/input.js';
import { answerHook, type HookEvent } from '../../integrations/claude-agent/answer-hook.js';
import { answerLiteLlm, type LiteLlmCall, runOf } from '../../integrations/litellm/answer-litellm.js';
import { type Analyzer, createGuard, type GuardOptions, type RunLog, type RunTextLog } from '../../policy/index.js';
import { hookBodySchema, liteLlmCallSchema } from './agent-schemas.js';
import { HttpError } from './http-error.js';

/** The host that called, and its actions on a blocked text. */
export interface AgentCall {
  readonly host: 'claude-code' | 'litellm';
  readonly on: NonNullable<GuardOptions['on']>;
  /** Of the account's policy. */
  readonly tools?: GuardOptions['tools'];
}

/** Screens what an agent's host sent, and keeps what its runs remember. */
export interface AgentAnalyzer extends RunLog {
  readonly texts: RunTextLog;
  analyze(
    input: Input,
    options?: Parameters<Analyzer['analyze']>[1] & {
      /** Of the host, where it names one. */
      readonly runId?: string | undefined;
      /** Calls of tools were made already. */
      readonly isPast?: boolean | undefined;
    },
  ): ReturnType<Analyzer['analyze']>;
}

/** The forms of a host's id under which a run is kept. */
const RUN_ID = /^[\w.:-]{1,100}$/;

/**
 * The response to an agent's host, as JSON. Whoever asks sets the deadline: the analyzer has none here.
 *
 * @throws HttpError 400 for a body of another shape
 */
export async function answerAgent(
  { host, on, tools }: AgentCall,
  body: object,
  analyzer: AgentAnalyzer,
): Promise<string> {
  const { session_id, input_type } = body as HookEvent & Partial<LiteLlmCall>;
  const named = host === 'claude-code' ? session_id : runOf(body as LiteLlmCall);
  const runId = typeof named === 'string' && RUN_ID.test(named) ? named : undefined;
  const isPast = host === 'litellm' && input_type === 'request';
  const engine: Analyzer = { analyze: (input, options) => analyzer.analyze(input, { ...options, runId, isPast }) };
  // A gateway hands over the whole conversation: what was said and read before is known from that.
  const { texts, ...digests } = analyzer;
  const runLog = runId === undefined ? undefined : { ...digests, ...(host === 'claude-code' && { texts }) };
  const guard = createGuard({ engine, on, tools, runLog, cache: { max: 100 }, timeoutMs: 2 ** 31 - 1 });
  if (host === 'claude-code') {
    if (!hookBodySchema.safeParse(body).success) throw notTaken();
    // The body itself: a parsed copy would lose members named `__proto__`. In canonical form, since numbers that no double
    // holds stay as they were sent: a result of another shape would be ignored.
    return canonicalJson(await answerHook(guard, body));
  }
  const call = liteLlmCallSchema.safeParse(body);
  if (!call.success) throw notTaken();
  return JSON.stringify(await answerLiteLlm(guard, call.data));
}

/** A body of another shape than its path takes. */
export function notTaken(): HttpError {
  return new HttpError(400, 'The body is not what this path takes; see /openapi.json.');
}
