import type { Guard } from './guard.js';
import { PortcullisBlocked, passes, type ScreenCall } from './policy.js';

/** Returns the error to throw in place of a tool's, whose message the model will read: the same where it is allowed. */
export async function screenedError(
  guard: Pick<Guard, 'screen'>,
  error: unknown,
  call: ScreenCall = {},
): Promise<unknown> {
  if (error instanceof PortcullisBlocked || call.signal?.aborted) return error;
  const text = errorText(error);
  const decision = await guard.screen('tool_result', text, call);
  if (!passes(decision)) return new PortcullisBlocked(decision.enforcement);
  if (decision.value === text) return error;
  // Without `cause`: hosts print it.
  return new Error(decision.value);
}

/** The text of an error as most hosts show it to a model: its name and message. */
export function errorText(error: unknown): string {
  return error instanceof Error || typeof error !== 'object' ? String(error) : (JSON.stringify(error) ?? String(error));
}
