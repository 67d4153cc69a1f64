import { canonicalJson } from '../../engine/canonical-json.js';
import type { Input } from '../../index.js';
import { answerHook, type HookEvent } from '../../integrations/claude-agent/answer-hook.js';
import { answerLiteLlm } from '../../integrations/litellm/answer-litellm.js';
import { type Analyzer, createGuard, type Policy } from '../../policy/index.js';
import { hookBodySchema, liteLlmCallSchema } from './agent-schemas.js';
import { HttpError } from './http-error.js';

/** Which host called, and what happens to a blocked text. */
export interface AgentCall {
  readonly host: 'claude-code' | 'litellm';
  readonly on: Partial<Policy>;
}

/** Screens what an agent's host sent. `session`: of the host, where it names one. */
export interface AgentAnalyzer {
  analyze(
    input: Input,
    options?: Parameters<Analyzer['analyze']>[1] & { readonly session?: string | undefined },
  ): ReturnType<Analyzer['analyze']>;
}

/**
 * The response to an agent's host, as JSON. Whoever asks sets the deadline: the analyzer has none here.
 *
 * @throws HttpError 400 for a body of another shape
 */
export async function answerAgent({ host, on }: AgentCall, body: object, analyzer: AgentAnalyzer): Promise<string> {
  const { session_id } = body as HookEvent;
  const session = host === 'claude-code' && typeof session_id === 'string' ? session_id : undefined;
  const engine: Analyzer = { analyze: (input, options) => analyzer.analyze(input, { ...options, session }) };
  const guard = createGuard({ engine, on, cache: { max: 100 }, timeoutMs: 2 ** 31 - 1 });
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
