import type { Keep } from '../evidence/evidence-record.js';

/** What an account's owner chose. */
export interface AccountSettings {
  /** The shape of verdicts unless a call asks for another. */
  readonly verdictForm: 'extended' | 'minimal';
  /** Evidence older than this is purged; 1..3650. */
  readonly retentionDays: number;
  readonly keep: Keep;
}

/** A customer of the service. */
export interface Account {
  /** `acct_` and 16 hex digits. */
  readonly id: string;
  readonly name: string;
  /** A name of the plans file. */
  readonly plan: string;
  /** Milliseconds since 1970; counts only while the plan is a trial. */
  readonly trialEndsAt: number | null;
  /** Calls bought and not yet used. */
  readonly overageLeft: number;
  readonly settings: AccountSettings;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** Accounts. Unknown ids reject with a `StoreError` `STORE_NOT_FOUND`, except where `undefined` is returned. */
export interface AccountStore {
  /** @throws StoreError `STORE_NOT_FOUND` for a plan that the plans file doesn't have. */
  create(name: string, plan: string): Promise<Account>;
  get(id: string): Promise<Account | undefined>;
  /** By id or by name. @throws StoreError `STORE_NOT_FOUND`; `STORE_CONFLICT` where several have the name. */
  find(idOrName: string): Promise<Account>;
  /** Oldest first. */
  list(): Promise<readonly Account[]>;
  setPlan(id: string, plan: string): Promise<Account>;
  /** `at` in milliseconds since 1970. */
  setTrialEnd(id: string, at: number): Promise<Account>;
  /** Changes the given settings alone. */
  setSettings(id: string, settings: Partial<AccountSettings>): Promise<Account>;
  /** Adds bought calls, a whole number above 0. */
  addOverage(id: string, calls: number): Promise<Account>;
}
