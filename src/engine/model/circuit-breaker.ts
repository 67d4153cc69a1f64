import { ModelError, type ModelErrorCode } from '../errors.js';
import type { Classifier, ClassifierAnswer, ClassifierInfo, ClassifyOptions, Clock } from '../ports.js';

/** The outcome of one call to the model. */
export type ModelAnswer =
  | { readonly kind: 'answer'; readonly answer: ClassifierAnswer }
  | { readonly kind: 'error'; readonly code: ModelErrorCode };

/** Asks a model. Never rejects because of it. */
export type AskModel = (texts: readonly string[], options: Omit<ClassifyOptions, 'signal'>) => Promise<ModelAnswer>;

/** Milliseconds after its deadline within which a classifier is expected to reject by itself. */
const GRACE_MS = 50;

/** Failures that do not count against the model: a long text took too long, or the caller closed it. */
const NEUTRAL: ReadonlySet<ModelErrorCode> = new Set(['MODEL_TIMEOUT', 'MODEL_CLOSED']);

/** Puts a model behind a deadline and a circuit breaker: the engine's one catch. */
export function createBreaker(model: Classifier, clock: Clock, limits: BreakerLimits): AskModel {
  let state: BreakerState = CLOSED;
  const step = (event: BreakerEvent): boolean => {
    const next = stepBreaker(state, event, clock.now(), limits);
    state = next.state;
    return next.allowed;
  };

  return async (texts, options) => {
    if (!step('ask')) return { kind: 'error', code: 'MODEL_RESTING' };
    try {
      const answer = await answerInTime(model, texts, options, clock);
      step('success');
      return { kind: 'answer', answer };
    } catch (error) {
      const code = error instanceof ModelError ? error.code : 'MODEL_FAILED';
      step(NEUTRAL.has(code) ? 'neutral' : 'failure');
      return { kind: 'error', code };
    }
  };
}

async function answerInTime(
  model: Classifier,
  texts: readonly string[],
  options: Omit<ClassifyOptions, 'signal'>,
  clock: Clock,
): Promise<ClassifierAnswer> {
  const signal = { aborted: false };
  let cancel = (): void => {};
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(options.timeoutMs + GRACE_MS, () => {
      reject(new ModelError('MODEL_SILENT', 'the classifier did not respond in time'));
    });
  });
  try {
    const answer = await Promise.race([model.classify(texts, { ...options, signal }), late]);
    if (!(answer.probability >= 0 && answer.probability <= 1)) {
      throw new ModelError('MODEL_OUTPUT', 'the classifier returned no probability');
    }
    return answer;
  } finally {
    signal.aborted = true;
    cancel();
  }
}

/** Settings of the circuit breaker. Times in milliseconds. */
export interface BreakerLimits {
  /** Failures in a row that open the circuit. */
  readonly failures: number;
  /** Time without calls after the circuit opens; doubles with each failed probe, up to `maxRestMs`. */
  readonly restMs: number;
  readonly maxRestMs: number;
}

/** `closed`: calls go to the model. `open`: they don't. `half-open`: one call probes it. */
export type BreakerState =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly until: number; readonly restMs: number }
  | { readonly kind: 'half-open'; readonly restMs: number };

/** An event of the circuit. `neutral`: a failure that does not count, such as a deadline that passed while the model worked. */
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
        return { state: { kind: 'half-open', restMs: state.restMs }, allowed: true };
      }
      return { state, allowed: false };
    case 'success':
      // A call that began before the circuit opened proves as much as a probe.
      return { state: CLOSED, allowed: true };
    case 'failure':
      return { state: afterFailure(state, now, limits), allowed: false };
    case 'neutral':
      // A probe without an answer: the next call may try again at once.
      if (state.kind === 'half-open')
        return { state: { kind: 'open', until: now, restMs: state.restMs }, allowed: false };
      return { state, allowed: state.kind === 'closed' };
  }
}

function afterFailure(state: BreakerState, now: number, limits: BreakerLimits): BreakerState {
  if (state.kind === 'half-open') {
    const restMs = Math.min(state.restMs * 2, limits.maxRestMs);
    return { kind: 'open', until: now + restMs, restMs };
  }
  // Calls in flight when the circuit opened don't keep it open longer.
  if (state.kind === 'open') return state;
  const failures = state.failures + 1;
  if (failures < limits.failures) return { kind: 'closed', failures };
  return { kind: 'open', until: now + limits.restMs, restMs: limits.restMs };
}

/**
 * Makes a classifier in place of a model that failed to load: each call ends as `ml-error-rules-fallback`, so that
 * callers see that the model is missing instead of getting a quiet verdict by rules.
 *
 * @param configured the thresholds that the model has in its manifest, where that can be read; a number stands for all
 */
export function unavailableModel(
  error: ModelError,
  configured: number | Pick<ClassifierInfo, 'thresholds' | 'channelThresholds' | 'defaultOperatingPoint'> = 0.5,
): Classifier {
  const known =
    typeof configured === 'number'
      ? {
          thresholds: { strict: configured, balanced: configured, permissive: configured },
          defaultOperatingPoint: 'balanced',
        }
      : configured;
  const again = (): Promise<never> => Promise.reject(new ModelError(error.code, error.message, { cause: error }));
  return {
    info: { ...known, version: 'unavailable' },
    classify: again,
    warmUp: again,
    close: () => Promise.resolve(),
  };
}
