import type { Overlay } from '../engine/rules/pack/overlay-schema.js';
import type { Keep } from '../evidence/evidence-record.js';
import type { WrittenPolicy } from '../policy/run/written-policy.js';

/** Settings that an account's owner chose. */
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
  /** Calls of the trial used: it has one allowance, however many months it lasts. */
  readonly trialUsed: number;
  /** Calls bought and not yet used. */
  readonly overageLeft: number;
  readonly settings: AccountSettings;
  /** The overlay that its calls are screened under, on top of the server's packs and overlays; null where it never applied one. */
  readonly overlay: AppliedOverlay | null;
  /** Decides on the calls of its runs; null where it has none, and a guard's defaults decide. */
  readonly flowPolicy: WrittenPolicy | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** The overlay of an account that is in force. An empty one leaves all as the server has it. */
export interface AppliedOverlay {
  /** 1 and up, by account. */
  readonly number: number;
  readonly overlay: Overlay;
}

export interface OverlayVersion extends AppliedOverlay {
  /** YAML as it was given. */
  readonly source: string;
  readonly note: string;
  /** Of the verdicts under it when it was applied. */
  readonly rulesVersion: string;
  /** E-mail of who applied it. */
  readonly actor: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** Overlays of accounts: each version is kept, the newest is in force. */
export interface OverlayStore {
  /** Makes a version and puts it in force, in one transaction. @throws StoreError STORE_NOT_FOUND */
  apply(accountId: string, version: Omit<OverlayVersion, 'number' | 'createdAt'>): Promise<OverlayVersion>;
  /** Newest first. */
  list(accountId: string, limit: number): Promise<readonly OverlayVersion[]>;
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
  rename(id: string, name: string): Promise<Account>;
  setPlan(id: string, plan: string): Promise<Account>;
  /** `at` in milliseconds since 1970. */
  setTrialEnd(id: string, at: number): Promise<Account>;
  /** Changes the given settings alone. */
  setSettings(id: string, settings: Partial<AccountSettings & Pick<Account, 'flowPolicy'>>): Promise<Account>;
  /** Adds bought calls, a whole number above 0. */
  addOverage(id: string, calls: number): Promise<Account>;
}

/** An API key as it may be shown: never its secret. */
export interface ApiKey {
  /** `key_` and 16 hex digits. */
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** The secret's last four characters, to tell keys apart. */
  readonly hint: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  /** Set by a rotation: the old key works until then. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** The key that took its place. */
  readonly replacedBy: string | null;
}

/** A key just made. The secret exists here and nowhere else. */
export interface NewKey extends ApiKey {
  readonly secret: string;
}

/** API keys. What takes an account id reaches keys of that account alone. Times are milliseconds since 1970. */
export interface KeyStore {
  create(accountId: string, name: string): Promise<NewKey>;
  /** The key and its account, as they are now; undefined for a key that is malformed, unknown, revoked or expired. */
  find(secret: string): Promise<{ readonly key: ApiKey; readonly account: Account } | undefined>;
  /** Remembers a use; written within some seconds, never on the caller's way. */
  used(id: string, at: number): void;
  get(accountId: string, id: string): Promise<ApiKey | undefined>;
  /** Newest first, revoked ones too. */
  list(accountId: string): Promise<readonly ApiKey[]>;
  /** A new key in place of another, which works for `graceSeconds` more. @throws StoreError STORE_NOT_FOUND */
  rotate(accountId: string, id: string, graceSeconds: number): Promise<NewKey>;
  /** Within the grace period of a rotation: the old key stays valid, its successor is revoked. @throws StoreError STORE_NOT_FOUND */
  undoRotation(accountId: string, id: string): Promise<ApiKey>;
  /** @throws StoreError STORE_NOT_FOUND */
  revoke(accountId: string, id: string): Promise<ApiKey>;
}

/** The calls that an account has left in the month of `at`. */
export interface Quota {
  /** Calls of the plan in a month, without bought ones. */
  readonly limit: number;
  /** Calls left: of the plan in this month, and bought ones. */
  readonly remaining: number;
  /** Whole seconds until the calendar month turns in UTC; at least 1. */
  readonly resetSeconds: number;
}

/** Whether a call was admitted; if so, it is already counted durably. */
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

/** An order: packs of calls, or a plan. */
export type OrderItem =
  | { readonly kind: 'overage'; readonly packs: number }
  | { readonly kind: 'plan'; readonly plan: string };

/** A purchase. `approved` by an operator or `paid` by a provider: both grant it, once. */
export interface Order {
  /** `order_` and 16 hex digits. */
  readonly id: string;
  readonly accountId: string;
  readonly item: OrderItem;
  readonly status: 'pending' | 'approved' | 'paid' | 'rejected';
  /** The provider's own id, e.g. of a checkout session. */
  readonly externalId: string | null;
  readonly createdAt: number;
  readonly settledAt: number | null;
}

/** Orders. Times are milliseconds since 1970. */
export interface OrderStore {
  /** The same external id again gives the order that is there. */
  create(accountId: string, item: OrderItem, externalId?: string): Promise<Order>;
  get(id: string): Promise<Order | undefined>;
  /** Newest first; of all accounts if none is given (for the operator). */
  list(accountId?: string): Promise<readonly Order[]>;
  /** Settles a pending order and grants what was bought, in one transaction; again it changes nothing. */
  settle(id: string, status: 'approved' | 'paid' | 'rejected'): Promise<Order>;
  /** True the first time that an event of a provider is seen. */
  seeEvent(provider: string, eventId: string): Promise<boolean>;
}
