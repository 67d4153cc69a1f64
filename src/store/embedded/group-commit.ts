import type { Database } from 'better-sqlite3';
import { StoreError } from '../store-error.js';

/** Sums of the writes of one commit: written once, at its end, instead of once a write. */
export interface Tally {
  /** Writes it, inside the commit. */
  write(): void;
  /** Forgets it: the commit came to nothing. */
  drop(): void;
}

/** Writes that share their commits: one sync to the disk serves all that came meanwhile. */
export interface GroupCommit {
  /** Runs `work` in the next commit. Resolves when that is on the disk; a throw of `work` rejects it alone. */
  run<T>(work: () => T): Promise<T>;
  /** The same, resolved when the system has it: it outlives this process, and is on the disk with any later `run`. */
  runAhead<T>(work: () => T): Promise<T>;
  /** Keeps commits back while `work` runs a transaction of its own on another connection. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** How many wait for a commit. */
  readonly waiting: number;
  /** How many were asked for since it was opened. */
  readonly asked: number;
  /** Resolves when nothing waits; later work is refused. */
  close(): Promise<void>;
}

interface Job {
  readonly ahead: boolean;
  readonly work: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

const MOST_IN_ONE = 512;
const RETRY_MS = 5;
/** How long another process may hold the database before calls are refused. */
const BUSY_TIMEOUT_MS = 5_000;

const errorCode = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** A write that waits for the sync of its commit. */
interface Committed {
  readonly settle: () => void;
  readonly reject: (error: unknown) => void;
}

/** The parts that a group commit works with. */
export interface GroupCommitParts {
  /** Puts on the disk all that was committed before it was called, while further calls come in. */
  readonly sync: () => Promise<void>;
  /** Told when the disk is full. */
  readonly onFull: () => void;
  /** Written at the end of each commit. */
  readonly tallies: readonly Tally[];
}

/** Group commit on a connection that nothing else uses and that doesn't sync by itself. */
export function openGroupCommit(db: Database, { sync, onFull, tallies }: GroupCommitParts): GroupCommit {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let jobs: Job[] = [];
  let committed: Committed[] = [];
  let syncing = false;
  let planned = false;
  let keptBack = 0;
  let closed = false;
  let asked = 0;
  let busySince: number | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let whenIdle: (() => void) | undefined;

  const plan = (wait = 0): void => {
    if (planned || keptBack > 0) return;
    if (jobs.length === 0) {
      if (!syncing) whenIdle?.();
      return;
    }
    planned = true;
    if (wait > 0) setTimeout(flush, wait);
    else setImmediate(flush);
  };

  /** One sync at a time: it serves all commits before it, and those meanwhile share the next one. */
  const startSync = (): void => {
    if (syncing || committed.length === 0) return;
    syncing = true;
    const group = committed;
    committed = [];
    sync()
      .then(
        () => {
          for (const { settle } of group) settle();
        },
        (error: unknown) => {
          for (const { reject } of group) reject(error);
        },
      )
      .finally(() => {
        syncing = false;
        startSync();
        plan();
      });
  };

  const refuse = (batch: readonly Job[], error: unknown): void => {
    if (errorCode(error) === 'SQLITE_FULL') onFull();
    for (const { reject } of batch) reject(error);
  };

  /** False where another process holds the database and there is time to wait. */
  const begun = (): boolean => {
    try {
      begin.run();
      busySince = undefined;
      return true;
    } catch (error) {
      busySince ??= performance.now();
      if (errorCode(error).startsWith('SQLITE_BUSY') && performance.now() - busySince < BUSY_TIMEOUT_MS) return false;
      busySince = undefined;
      throw error;
    }
  };

  function flush(): void {
    planned = false;
    if (keptBack > 0) return;
    const batch = jobs.slice(0, MOST_IN_ONE);
    try {
      if (!begun()) {
        plan(RETRY_MS);
        return;
      }
      jobs = jobs.slice(batch.length);
      const settled = batch.map(({ work, ahead, resolve, reject }) => {
        try {
          const value = work();
          return { ahead, reject, settle: () => resolve(value as never) };
        } catch (error) {
          // The failed statement is undone, the transaction stands: unless the database says otherwise.
          if (!db.inTransaction || errorCode(error) === 'SQLITE_FULL') throw error;
          return { ahead: true, reject, settle: () => reject(error) };
        }
      });
      for (const tally of tallies) tally.write();
      commit.run();
      for (const it of settled) {
        if (it.ahead) it.settle();
        else committed.push(it);
      }
      startSync();
    } catch (error) {
      if (db.inTransaction) rollback.run();
      for (const tally of tallies) tally.drop();
      if (jobs[0] === batch[0]) jobs = jobs.slice(batch.length);
      refuse(batch, error);
    }
    plan();
  }

  const add = <T>(work: () => T, ahead: boolean): Promise<T> =>
    new Promise((resolve, reject) => {
      if (closed) {
        reject(new StoreError('STORE_CLOSED', 'the store is closed'));
        return;
      }
      asked += 1;
      jobs.push({ work, ahead, resolve, reject });
      plan();
    });

  return {
    run: (work) => add(work, false),
    runAhead: (work) => add(work, true),
    alone(work) {
      keptBack += 1;
      const done = turn.then(work).finally(() => {
        keptBack -= 1;
        plan();
      });
      turn = done.catch(() => undefined);
      return done;
    },
    get waiting() {
      return jobs.length + committed.length;
    },
    get asked() {
      return asked;
    },
    close() {
      closed = true;
      return new Promise((resolve) => {
        whenIdle = resolve;
        plan();
      });
    },
  };
}
