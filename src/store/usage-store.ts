/** What an account may still do in the month of `at`. */
export interface Quota {
  /** Calls of the plan a month. */
  readonly limit: number;
  /** Calls left: of the plan in this month, and bought ones. */
  readonly remaining: number;
  /** Whole seconds until the calendar month turns in UTC; at least 1. */
  readonly resetSeconds: number;
}

/** Whether a call was let in; if so it is counted already, durably. */
export type Charge =
  | ({ readonly allowed: true } & Quota)
  | ({ readonly allowed: false; readonly code: 'TRIAL_ENDED' | 'MONTHLY_LIMIT_REACHED' } & Quota);

/** The calls of one calendar month, UTC. */
export interface MonthUsage {
  /** `2026-11` */
  readonly month: string;
  /** Calls of the plan. */
  readonly used: number;
  /** Bought calls used beyond the plan. */
  readonly overageUsed: number;
}

/** Counting. Times are milliseconds since 1970. */
export interface UsageStore {
  /** Lets a call in and counts it, or refuses: exact under any concurrency. @throws StoreError */
  charge(accountId: string, at: number): Promise<Charge>;
  /** The same figures without counting. */
  quota(accountId: string, at: number): Promise<Quota>;
  /** Newest first. */
  months(accountId: string, limit: number): Promise<readonly MonthUsage[]>;
}
