import type { ScorerAnswer, ScorerCall } from './scorer-settings.js';
import { ScoringError } from './scoring-errors.js';

/** A call that somebody waits for. */
export interface PendingCall {
  readonly call: ScorerCall;
  readonly usesModel: boolean;
  /** Milliseconds a scorer may take over it. */
  readonly deadlineMs: number;
  /** Its rough cost: UTF-16 code units. */
  readonly size: number;
  /** Blame for scorers that were lost over this very call: 2 for one that crashed or hung, 1 for one killed from outside. */
  readonly blame: number;
  /** Sent with no other call, so that a lost scorer can be blamed on it. */
  readonly alone: boolean;
  /** Starts its patience: when that ends before `endWait`, the call is refused. Anew after a lost scorer. */
  readonly wait: () => void;
  /** A scorer has it, or nobody waits any more. */
  readonly endWait: () => void;
  /** Takes the verdict, or what came of a task. */
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

const MAX_BLAME = 4;

/** Hands the answer to the one who waits. */
export function settle(pending: PendingCall, answer: ScorerAnswer): void {
  if ('verdict' in answer) pending.resolve(answer.verdict);
  else if ('done' in answer) pending.resolve(answer.done);
  else pending.reject(Object.assign(new Error(answer.failed.message), answer.failed));
}

/**
 * What becomes of the calls that a lost scorer held, in their order: those to try again. The first one was under
 * way. Asked of a model, it is answered by the rules next; asked of the rules among others, each is tried alone
 * before one is blamed. A call is rejected when two scorers
 * crashed or hung over it; one that was killed from outside (an operator, the system's memory) counts half. A task
 * is rejected at once: who gave it takes it apart.
 */
export function afterLoss(held: readonly PendingCall[], killedFromOutside: boolean): readonly PendingCall[] {
  const [first, ...rest] = held;
  if (first === undefined) return [];
  if ('task' in first.call) {
    first.reject(new ScoringError('SCORER_LOST', 'a scorer was lost over this task'));
    return rest;
  }
  if (!first.usesModel && rest.length > 0) return held.map((pending) => ({ ...pending, alone: true }));
  const blame = first.blame + (killedFromOutside ? 1 : 2);
  if (blame >= MAX_BLAME) {
    first.reject(new ScoringError('SCORER_LOST', 'scorers were lost over this input, one after another'));
    return rest;
  }
  return [{ ...first, blame, alone: true, call: { ...first.call, withoutModel: first.usesModel } }, ...rest];
}
