import { setTimeout } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { openBatcher } from '../batcher.js';

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

const MOST_IN_ONE = 512;
const RETRY_MS = 5;
/** How long another process may hold the database before calls are refused. */
const BUSY_TIMEOUT_MS = 5_000;

const errorCode = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

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
  let keptBack = 0;
  let asked = 0;
  let waiting = 0;
  let turn: Promise<unknown> = Promise.resolve();
  const commits = openBatcher(write, { lanes: 1, mostInOne: MOST_IN_ONE });
  /** One sync at a time: it serves all commits before it, and those meanwhile share the next one. */
  const syncs = openBatcher(writeOut, { lanes: 1 });

  async function writeOut(committed: readonly true[]): Promise<readonly true[]> {
    await sync();
    return committed;
  }

  /** False where another process holds the database and there is time to wait. */
  function begun(busySince: number): boolean {
    try {
      begin.run();
      return true;
    } catch (error) {
      if (errorCode(error).startsWith('SQLITE_BUSY') && performance.now() - busySince < BUSY_TIMEOUT_MS) return false;
      throw error;
    }
  }

  async function write(works: readonly (() => unknown)[]): Promise<readonly (Done | Error)[]> {
    try {
      let busySince = performance.now();
      // From here to the commit nothing is awaited: no transaction of another connection comes in between.
      for (;;) {
        if (keptBack > 0) {
          await turn;
          busySince = performance.now();
        } else if (begun(busySince)) break;
        else await setTimeout(RETRY_MS);
      }
      const results = works.map(run);
      for (const tally of tallies) tally.write();
      commit.run();
      return results;
    } catch (error) {
      if (db.inTransaction) rollback.run();
      for (const tally of tallies) tally.drop();
      if (errorCode(error) === 'SQLITE_FULL') onFull();
      throw error;
    }
  }

  function run(work: () => unknown): Done | Error {
    try {
      return { value: work() };
    } catch (error) {
      // The failed statement is undone, the transaction stands: unless the database says otherwise.
      if (!db.inTransaction || errorCode(error) === 'SQLITE_FULL') throw error;
      return error as Error;
    }
  }

  async function add<T>(work: () => T, isAhead: boolean): Promise<T> {
    asked += 1;
    waiting += 1;
    try {
      const { value } = await commits.add(work);
      if (!isAhead) await syncs.add(true);
      return value as T;
    } finally {
      waiting -= 1;
    }
  }

  return {
    run: (work) => add(work, false),
    runAhead: (work) => add(work, true),
    alone(work) {
      keptBack += 1;
      const done = turn.then(work).finally(() => {
        keptBack -= 1;
      });
      turn = done.catch(() => undefined);
      return done;
    },
    get waiting() {
      return waiting;
    },
    get asked() {
      return asked;
    },
    async close() {
      await commits.close();
      await syncs.close();
    },
  };
}

/** A write in a commit. */
interface Done {
  readonly value: unknown;
}
