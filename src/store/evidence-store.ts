import type { Channel } from '../engine/channel.js';
import type { RouterLevel } from '../engine/decide.js';
import type { DecidedBy } from '../engine/verdict.js';
import type { EvidenceLabel, EvidenceRecord } from '../evidence/evidence-record.js';
import type { Charge } from './account-store.js';

/** Filters of a list of evidence; all that are given must hold. */
export interface EvidenceFilter {
  readonly verdict?: 'allow' | 'block' | undefined;
  readonly rule?: string | undefined;
  readonly decidedBy?: DecidedBy | undefined;
  readonly routerLevel?: RouterLevel | undefined;
  readonly channel?: Channel | undefined;
  /** Whether the call named the user's task, however much of it is kept. */
  readonly hasTask?: boolean | undefined;
  readonly keyId?: string | undefined;
  /** The id of a caller's run. */
  readonly run?: string | undefined;
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number | undefined;
  /** Milliseconds since 1970, exclusive. */
  readonly to?: number | undefined;
  /** Part of the text kept, upper and lower case alike; or an evidence id, or its first four digits or more. */
  readonly text?: string | undefined;
  /** Null: unlabelled records. */
  readonly label?: EvidenceLabel | null | undefined;
}

/**
 * A page of a list, newest first. A search for a text stops after a while and says where to go on: such a page may have
 * fewer records than asked for, even none, while `next` isn't null.
 */
export interface EvidencePage {
  readonly records: readonly EvidenceRecord[];
  /** For the next call; null at the end. Records that arrive meanwhile move nothing. */
  readonly next: string | null;
  /** Of a search that stopped: what is younger has been looked through. Milliseconds since 1970; else null. */
  readonly searchedTo: number | null;
}

/** Calls of one hour, day or month that ended with one rule. */
export interface EvidenceCount {
  /** Start of the hour or day, milliseconds since 1970. */
  readonly at: number;
  /** `none` for allowed calls. */
  readonly rule: string;
  readonly calls: number;
  readonly blocks: number;
  /** Calls whose model failed, regardless of the verdict. */
  readonly modelErrors: number;
}

/** Latencies of the calls of one hour or day: a part of their distribution. */
export interface LatencyCount {
  /** Start of the hour or day, milliseconds since 1970. */
  readonly at: number;
  /** @see latencyAt */
  readonly step: number;
  readonly calls: number;
}

/** All calls that one pair of versions ended with one rule. */
export interface VersionCount {
  readonly rulesVersion: string;
  readonly mlVersion: string;
  /** `none` for allowed calls. */
  readonly rule: string;
  /** First and last call, milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly calls: number;
  readonly blocks: number;
  /** As labelled by members. */
  readonly falseAlarms: number;
  readonly missedAttacks: number;
}

/** Evidence. Whatever takes an account id reaches records of that account alone. */
export interface EvidenceStore {
  /** Durable when it resolves. @throws StoreError when it isn't: then there must be no verdict either. */
  append(record: EvidenceRecord): Promise<void>;
  /**
   * Counts the call of a record as `UsageStore.charge` does, and stores the record, in one commit. Where the quota refuses
   * the call, nothing is stored. `at` in milliseconds since 1970. @throws StoreError as `append`
   */
  appendCounted(record: EvidenceRecord, at: number): Promise<Charge>;
  get(accountId: string, id: string): Promise<EvidenceRecord | undefined>;
  /** For the operator: a record of any account. */
  find(id: string): Promise<EvidenceRecord | undefined>;
  /** `limit` 1..500. @throws StoreError `STORE_SETTINGS` for a cursor that this store never gave. */
  list(accountId: string, filter: EvidenceFilter, cursor: string | null, limit: number): Promise<EvidencePage>;
  /** All of a list, newest first, a page at a time. */
  iterate(accountId: string, filter: EvidenceFilter): AsyncIterable<EvidenceRecord>;
  /** Null takes the label off. @throws StoreError STORE_NOT_FOUND */
  label(accountId: string, id: string, label: EvidenceLabel | null): Promise<void>;
  /** Counts in `[from, to)` by `unit` and rule, oldest first. Purged evidence stays counted. */
  counts(accountId: string, from: number, to: number, unit: 'hour' | 'day'): Promise<readonly EvidenceCount[]>;
  /** Calls in `[from, to)` by `unit` and how long they took, oldest first. Purged evidence stays counted. */
  latencies(accountId: string, from: number, to: number, unit: 'hour' | 'day'): Promise<readonly LatencyCount[]>;
  /** Calls by the versions that answered them and by rule, in no order. Purged evidence stays counted. */
  versions(accountId: string): Promise<readonly VersionCount[]>;
  /**
   * Deletes what is older than its account keeps. Gives the number of records.
   *
   * @throws StoreError `STORE_CLOCK` where the clock seems wrong, unless `trustClock`
   */
  purge(now: number, options?: { readonly trustClock?: boolean | undefined }): Promise<number>;
}

const EXACT_BELOW = 16;
const STEPS_ADOUBLING = 8;

/**
 * The step of a latency, for counting: each whole millisecond below 16 has its own, above it a step is 9 % wide.
 * `ms` from 0.
 */
export function latencyStep(ms: number): number {
  const whole = Math.max(0, Math.round(ms));
  if (whole < EXACT_BELOW) return whole;
  return EXACT_BELOW + Math.floor((Math.log2(whole) - Math.log2(EXACT_BELOW)) * STEPS_ADOUBLING);
}

/** The middle of a step, milliseconds: within 5 % of every latency in it. */
export function latencyAt(step: number): number {
  if (step < EXACT_BELOW) return step;
  return EXACT_BELOW * 2 ** ((step - EXACT_BELOW + 0.5) / STEPS_ADOUBLING);
}
