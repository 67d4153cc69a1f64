import type { Explanation, Verdict } from '../index.js';

/** Whose key it is. */
export interface KeyOwner {
  readonly key: { readonly id: string };
  readonly account: { readonly id: string; readonly verdictForm: 'extended' | 'minimal' };
}

/** A call that the plan let in, or why it didn't; the window either way. */
export type Charge = ChargedWindow &
  ({ readonly allowed: true } | { readonly allowed: false; readonly code: 'TRIAL_ENDED' | 'MONTHLY_LIMIT_REACHED' });

interface ChargedWindow {
  /** Calls a month of the plan. */
  readonly limit: number;
  /** Calls that are left, overage credits with them. */
  readonly remaining: number;
  /** Whole seconds until the month turns. */
  readonly resetSeconds: number;
}

/** A decision to be kept. The store keeps the text as the account's retention setting says. */
export interface ScreenedCall {
  readonly id: string;
  readonly time: Date;
  readonly accountId: string;
  readonly keyId: string;
  /** The text that was screened; spans of the explanation are in it. */
  readonly text: string;
  readonly verdict: Verdict;
  readonly explanation: Explanation;
}

/** What the service needs of a store; both databases fulfil it. */
export interface ScreeningStore {
  /** The owner of a live key, or of a rotated one within its grace. */
  readonly findKey: (secret: string) => Promise<KeyOwner | undefined>;
  /** Counts one call; the count is durable, and exact over all replicas, when it resolves. */
  readonly charge: (accountId: string, at: Date) => Promise<Charge>;
  /** Durable when it resolves. */
  readonly append: (call: ScreenedCall) => Promise<unknown>;
  /** Rejects when the store can't answer. */
  readonly check: () => Promise<unknown>;
}
