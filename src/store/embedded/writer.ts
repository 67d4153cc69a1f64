import type { Charge } from '../account-store.js';
import type { Plans } from '../plans.js';
import type { CountedRow } from '../sql/evidence/evidence-row.js';
import type { StoreErrorCode } from '../store-error.js';
import { embeddedCharge } from './charge.js';
import { connect, openLog } from './database-file.js';
import { openGroupCommit } from './group-commit.js';
import { openSearchIndex, openSearchMark } from './search-index.js';
import { addedCounts, embeddedAppend, embeddedDelete } from './write-evidence.js';

/** Writes during a call: on this thread or on one of its own. */
export interface Writer {
  /** Counts a call or refuses it; what it says outlives this process. */
  charge(accountId: string, at: number): Promise<Charge>;
  /** Durable when it resolves. @throws StoreError `STORE_CONFLICT` where the id is there already */
  append(row: CountedRow): Promise<void>;
  /** The same with the call counted in the same commit; where it is refused, nothing is written. */
  appendCounted(row: CountedRow, at: number): Promise<Charge>;
  /** Deletes up to `limit` of an account's records before a place in the order; gives their number. */
  deleteBefore(accountId: string, before: number, limit: number): Promise<number>;
  /** Moves the write-ahead log into the database and empties it: it holds what was deleted, too. */
  emptyLog(): Promise<void>;
  /** Keeps commits back while `work` runs a transaction on another connection. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** Reasons why it can't write now, one line each. */
  problems(): readonly string[];
  /** Resolves when all that was asked is durable; later work is refused. */
  close(): Promise<void>;
}

/** The parts of a writer. */
export interface WriterParts {
  /** The database's file, with its schema up to date. */
  readonly file: string;
  /** Told when the disk is full. */
  readonly onFull: () => void;
}

/** The settings of a thread that writes. */
export interface WriterSettings {
  readonly file: string;
  readonly plans: Pick<Plans, 'all' | 'overagePackCalls'>;
}

/** One thing to write. `id` comes back with what came of it. */
export type WriterJob =
  | { readonly kind: 'charge'; readonly id: number; readonly accountId: string; readonly at: number }
  /** With `at` (milliseconds since 1970) the call is counted, too. */
  | { readonly kind: 'append'; readonly id: number; readonly row: CountedRow; readonly at: number | null }
  | {
      readonly kind: 'delete';
      readonly id: number;
      readonly accountId: string;
      readonly before: number;
      readonly limit: number;
    }
  | { readonly kind: 'empty-log'; readonly id: number }
  /** Resolves once no commit is in progress; none starts until the same `id` is released. */
  | { readonly kind: 'hold'; readonly id: number }
  | { readonly kind: 'release'; readonly id: number }
  | { readonly kind: 'close'; readonly id: number };

/** Jobs as a message carries them: a record as a run of values, since the names of its columns would cost more than what they hold. */
export type PackedJobs = readonly unknown[];

const RECORD = 'record';

/** Writes jobs as a message. */
export function packJobs(jobs: readonly WriterJob[]): PackedJobs {
  const packed: unknown[] = [];
  for (const job of jobs) {
    if (job.kind !== 'append') {
      packed.push(job);
      continue;
    }
    const { row } = job;
    packed.push(RECORD, job.id, job.at);
    packed.push(row.seq, row.id, row.account_id, row.key_id, row.verdict, row.rule, row.decided_by, row.router_level);
    packed.push(row.channel, row.label, row.text, row.record, row.at, row.is_model_error, row.latency_ms);
    packed.push(row.rules_version, row.ml_version);
  }
  return packed;
}

/** Reads a message, in the order of its jobs. */
export function unpackJobs(packed: PackedJobs): readonly WriterJob[] {
  const jobs: WriterJob[] = [];
  let at = 0;
  const next = <T>(): T => packed[at++] as T;
  while (at < packed.length) {
    const first = next<WriterJob | typeof RECORD>();
    if (first !== RECORD) {
      jobs.push(first);
      continue;
    }
    const [id, countedAt] = [next<number>(), next<number | null>()];
    const row: CountedRow = {
      seq: next(),
      id: next(),
      account_id: next(),
      key_id: next(),
      verdict: next(),
      rule: next(),
      decided_by: next(),
      router_level: next(),
      channel: next(),
      label: next(),
      text: next(),
      record: next(),
      at: next(),
      is_model_error: next(),
      latency_ms: next(),
      rules_version: next(),
      ml_version: next(),
    };
    jobs.push({ kind: 'append', id, row, at: countedAt });
  }
  return jobs;
}

/** An error as it crosses threads. */
export interface WriterFailure {
  readonly message: string;
  /** The store's own code, or the database's. */
  readonly code: StoreErrorCode | string;
  /** Whether it is a `StoreError`. */
  readonly isOwn: boolean;
}

/** The outcome of a job. */
export type WriterAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failed: WriterFailure };

/** Messages from the thread. */
export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly failed: WriterFailure }
  | { readonly kind: 'full' }
  | { readonly kind: 'answers'; readonly answers: readonly WriterAnswer[] };

/** A writer on this thread, with a connection of its own; it fills the search index too. */
export async function openWriter({ file, onFull, plans }: WriterParts & { readonly plans: Plans }): Promise<Writer> {
  // Waiting for another process's commit must not stop this thread: the group commit tries again instead.
  const db = connect(file, 0);
  try {
    const log = await openLog(db, file);
    const charges = embeddedCharge(db, plans);
    const counts = addedCounts(db);
    const mark = openSearchMark(db);
    const commits = openGroupCommit(db, { sync: () => log.datasync(), onFull, tallies: [charges, counts, mark] });
    const search = openSearchIndex(db, commits, mark);
    const append = embeddedAppend(db, counts, mark);
    return {
      charge: (accountId, at) => commits.runAhead(() => charges.charge(accountId, at)),
      append: (row) => commits.run(() => append(row)),
      appendCounted: (row, at) =>
        commits.run(() => {
          const charge = charges.charge(row.account_id, at);
          if (charge.allowed) append(row);
          return charge;
        }),
      deleteBefore: embeddedDelete(db, commits, mark),
      async emptyLog() {
        await search.rewrite();
        await commits.alone(async () => {
          // Where a reader is in the way the next purge does it.
          db.pragma('wal_checkpoint(TRUNCATE)');
        });
      },
      alone: commits.alone,
      problems: () => [],
      async close() {
        search.close();
        await commits.close();
        await log.close();
        db.close();
      },
    };
  } catch (error) {
    db.close();
    throw error;
  }
}
