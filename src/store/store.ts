import type { AccountStore } from './account-store.js';
import type { EvidenceStore } from './evidence-store.js';
import type { KeyStore } from './key-store.js';
import type { OrderStore } from './order-store.js';
import type { Plans } from './plans.js';
import type { UsageStore } from './usage-store.js';
import type { SessionStore, UserStore } from './user-store.js';
import type { VersionStore } from './version-store.js';

/** The state of the database, as readiness and `portcullis admin check` tell it. */
export interface StoreHealth {
  readonly ok: boolean;
  readonly database: 'embedded' | 'postgres';
  /** What is wrong, one line each; empty when `ok`. */
  readonly problems: readonly string[];
}

/** All that outlives a process. One port, two databases: a conformance suite runs on both. */
export interface Store {
  readonly database: 'embedded' | 'postgres';
  readonly plans: Plans;
  readonly accounts: AccountStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly keys: KeyStore;
  readonly usage: UsageStore;
  readonly evidence: EvidenceStore;
  readonly orders: OrderStore;
  readonly versions: VersionStore;
  /** A small note by name, for what belongs to no account; undefined where there is none. */
  readonly notes: NoteStore;
  /** Whether it answers now, for readiness: cheap. */
  ready(): Promise<StoreHealth>;
  /** Everything that can be verified, integrity of the file and indexes too: slow on a large database. */
  check(): Promise<StoreHealth>;
  /** Ends after what is under way is durable. */
  close(): Promise<void>;
}

/** Named texts: the first run's mark, digests of secrets, versions seen. */
export interface NoteStore {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
  /** Sets it where there is none; gives the value that holds now, the same for all who race. */
  claim(name: string, value: string): Promise<string>;
}
