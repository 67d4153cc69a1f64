import type { Guard } from './guard.js';
import { PortcullisBlocked, passes, type ScreenCall } from './policy.js';

/** Screens a tool's error message, which the model will read. Returns the error itself if it is allowed, or one to throw instead. */
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
