/** When a model that keeps failing is left alone. Times in milliseconds. */
export interface BreakerLimits {
  /** Failures in a row that open the circuit. */
  readonly failures: number;
  /** Rest after the first opening; doubles with each failed probe. */
  readonly restMs: number;
  readonly maxRestMs: number;
}

/** `closed`: the model is asked. `open`: it rests. `probing`: one call is trying it. */
export type BreakerState =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly until: number; readonly restMs: number }
  | { readonly kind: 'probing'; readonly restMs: number };

/** What may happen to the circuit. A `neutral` end says nothing of the model (a deadline while it worked). */
export type BreakerEvent = 'ask' | 'success' | 'failure' | 'neutral';

export const CLOSED: BreakerState = { kind: 'closed', failures: 0 };

/** The next state, and for `ask` whether the model may be asked. Pure: the caller keeps the state. */
export function stepBreaker(
  state: BreakerState,
  event: BreakerEvent,
  now: number,
  limits: BreakerLimits,
): { readonly state: BreakerState; readonly allowed: boolean } {
  switch (event) {
    case 'ask':
      if (state.kind === 'closed') return { state, allowed: true };
      if (state.kind === 'open' && now >= state.until) {
        return { state: { kind: 'probing', restMs: state.restMs }, allowed: true };
      }
      return { state, allowed: false };
    case 'success':
      // A call that began before the circuit opened proves as much as a probe.
      return { state: CLOSED, allowed: true };
    case 'failure':
      return { state: afterFailure(state, now, limits), allowed: false };
    case 'neutral':
      // A probe without an answer: the next call may try again at once.
      if (state.kind === 'probing')
        return { state: { kind: 'open', until: now, restMs: state.restMs }, allowed: false };
      return { state, allowed: state.kind === 'closed' };
  }
}

function afterFailure(state: BreakerState, now: number, limits: BreakerLimits): BreakerState {
  if (state.kind === 'probing') {
    const restMs = Math.min(state.restMs * 2, limits.maxRestMs);
    return { kind: 'open', until: now + restMs, restMs };
  }
  // Calls that were under way when the circuit opened don't lengthen its rest.
  if (state.kind === 'open') return state;
  const failures = state.failures + 1;
  if (failures < limits.failures) return { kind: 'closed', failures };
  return { kind: 'open', until: now + limits.restMs, restMs: limits.restMs };
}
