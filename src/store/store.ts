import type { KeptVersions, VersionKind } from '../evidence/kept-versions.js';
import type { RunEntry, RunText } from '../policy/run/run-state.js';
import type { AccountStore, KeyStore, OrderStore, OverlayStore, UsageStore } from './account-store.js';
import type { EvidenceStore } from './evidence-store.js';
import type { AuditStore, WebhookStore } from './operations-store.js';
import type { Plans } from './plans.js';
import type { AttemptStore, DeviceStore, SecondFactorStore, SessionStore, UserStore } from './user-store.js';

/** Place and settings of the store. Exactly one of `data` and `databaseUrl` chooses the database. */
export interface StoreOptions {
  /** Folder of the embedded database; made where it is missing. */
  readonly data?: string | undefined;
  /** `postgres://user@host:port/database` */
  readonly databaseUrl?: string | undefined;
  /** YAML or JSON. Default: `plans.yaml` in the data folder if there is one, else the plans of the product. */
  readonly plansFile?: string | undefined;
  /** Secret that API keys are hashed with, 32 characters or more. Default: one made at the first start and kept. */
  readonly pepper?: string | undefined;
  /** Refuses a data folder that another process has opened so: for servers. Replicas share PostgreSQL instead. */
  readonly serves?: boolean | undefined;
  /** With `serves`: the folder is held by the process that started this one (`holdFolder`). */
  readonly isHeld?: boolean | undefined;
  /** Program of the thread that writes the embedded database. Default: this package's for servers; otherwise no thread. */
  readonly writerProgram?: string | undefined;
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
  /** Runs the steps of lists and searches. Default: one after the other without a rest. */
  readonly longWork?: LongWork | undefined;
}

/**
 * Runs a step of an account's long work on this thread when its turn comes, so that short work goes on between the steps. `size`: its
 * rough cost, bytes. A step that gives a promise ends with it.
 */
export type LongWork = <T>(accountId: string, size: number, step: () => T | Promise<T>) => Promise<T>;

/** The state of the database, as readiness and `portcullis admin check` tell it. */
export interface StoreHealth {
  readonly ok: boolean;
  readonly database: 'embedded' | 'postgres';
  /** Problems, one line each; empty when `ok`. */
  readonly problems: readonly string[];
}

/** All that outlives a process. One port, two databases: a conformance suite runs on both. */
export interface Store {
  readonly database: 'embedded' | 'postgres';
  readonly plans: Plans;
  readonly accounts: AccountStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly devices: DeviceStore;
  readonly attempts: AttemptStore;
  readonly keys: KeyStore;
  readonly usage: UsageStore;
  readonly evidence: EvidenceStore;
  readonly orders: OrderStore;
  readonly overlays: OverlayStore;
  readonly audit: AuditStore;
  readonly webhooks: WebhookStore;
  readonly secondFactors: SecondFactorStore;
  readonly versions: VersionStore;
  readonly runs: RunStore;
  /** A small value by name that belongs to no account; undefined if it is not set. */
  readonly notes: NoteStore;
  /** Whether it answers now, for readiness: cheap. */
  ready(): Promise<StoreHealth>;
  /** Everything that can be verified, integrity of the file and indexes too: slow on a large database. */
  check(): Promise<StoreHealth>;
  /** Closes once pending writes are durable. */
  close(): Promise<void>;
}

/** Memory of runs between two calls. A method that takes an account id reaches runs of that account alone. */
export interface RunStore {
  /** A run as a guard's `runLog` reads it; the newest entries of a larger one. */
  read(accountId: string, runId: string): Promise<{ readonly seed: number; readonly entries: readonly string[] }>;
  /** Adds entries; of a name that is there already, nothing. The oldest beyond the bounds of a run and an account go. */
  add(accountId: string, runId: string, entries: readonly RunEntry[]): Promise<void>;
  /** The newest texts of a run, in the order in which they were added. Names are keyed, but for the one that is looked for. */
  readTexts(accountId: string, runId: string, name?: string): Promise<readonly RunText[]>;
  /** Adds a text, within the same bounds. One that was read stays as it is, a turn of the user becomes the newest. */
  addText(accountId: string, runId: string, text: RunText): Promise<void>;
  /** Deletes entries and texts older than this, milliseconds since 1970. */
  purge(before: number): Promise<void>;
}

/** Named texts: the first run's mark, digests of secrets, versions seen. */
export interface NoteStore {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
  /** Sets it if it is not set; returns the value in force, the same for all concurrent callers. */
  claim(name: string, value: string): Promise<string>;
}

/** Rules and models as they were when they gave verdicts, for a replay. */
export interface VersionStore extends KeptVersions {
  /** Oldest first. */
  list(kind: VersionKind): Promise<readonly { readonly version: string; readonly storedAt: number }[]>;
}
