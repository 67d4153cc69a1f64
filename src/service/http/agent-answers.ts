import { canonicalJson } from '../../engine/canonical-json.js';
import { answerHook } from '../../integrations/claude-agent/answer-hook.js';
import { answerLiteLlm } from '../../integrations/litellm/answer-litellm.js';
import { type Analyzer, createGuard, type Policy } from '../../policy/index.js';
import { hookBodySchema, liteLlmCallSchema } from './agent-schemas.js';
import { HttpError } from './http-error.js';

/** Which host called, and what happens to a blocked text. */
export interface AgentCall {
  readonly host: 'claude-code' | 'litellm';
  readonly on: Partial<Policy>;
}

/**
 * The response to an agent's host, as JSON. Whoever asks sets the deadline: the analyzer has none here.
 *
 * @throws HttpError 400 for a body of another shape
 */
export async function answerAgent({ host, on }: AgentCall, body: object, engine: Analyzer): Promise<string> {
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
