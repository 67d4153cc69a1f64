import { ModelError, type ModelErrorCode } from '../errors.js';
import type { Classifier, ClassifierAnswer, ClassifyOptions, Clock } from '../ports.js';
import { type BreakerEvent, type BreakerLimits, type BreakerState, CLOSED, stepBreaker } from './circuit-breaker.js';

/** What became of one question to the model. */
export type GuardedAnswer =
  | { readonly kind: 'answer'; readonly answer: ClassifierAnswer }
  | { readonly kind: 'error'; readonly code: ModelErrorCode };

/** A classifier behind a deadline and a circuit breaker. `ask` never rejects because of the model. */
export interface GuardedClassifier {
  ask(texts: readonly string[], options: Omit<ClassifyOptions, 'signal'>): Promise<GuardedAnswer>;
  readonly resting: () => boolean;
}

/** A classifier that minds its deadline says so itself within this time after it, in milliseconds. */
const GRACE_MS = 50;

/** Ends that say nothing against the model: a long text took too long, or the caller's own doing. */
const NEUTRAL: ReadonlySet<ModelErrorCode> = new Set(['MODEL_TIMEOUT', 'MODEL_CLOSED']);

/** Puts a model behind the engine's one catch. */
export function guardClassifier(model: Classifier, clock: Clock, limits: BreakerLimits): GuardedClassifier {
  let state: BreakerState = CLOSED;
  const step = (event: BreakerEvent): boolean => {
    const next = stepBreaker(state, event, clock.now(), limits);
    state = next.state;
    return next.allowed;
  };

  return {
    resting: () => state.kind === 'open' && clock.now() < state.until,
    async ask(texts, options) {
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
    },
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
      reject(new ModelError('MODEL_SILENT', 'the classifier gave no answer in time'));
    });
  });
  try {
    const answer = await Promise.race([model.classify(texts, { ...options, signal }), late]);
    if (!(answer.probability >= 0 && answer.probability <= 1)) {
      throw new ModelError('MODEL_OUTPUT', 'the classifier gave no probability');
    }
    return answer;
  } finally {
    signal.aborted = true;
    cancel();
  }
}
