import type { Verdict } from '../engine/verdict.js';

/** What a replay found. */
export interface ReplayReport {
  readonly outcome: 'identical' | 'different' | 'impossible';
  /** What differs, why it can't be replayed, or what was left out of the comparison. Never quotes the input. */
  readonly notes: readonly string[];
  /** What is said now; null where it can't be replayed. */
  readonly verdict: Verdict | null;
}
