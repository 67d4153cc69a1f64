import { setTimeout } from 'node:timers/promises';
import type { Database, Statement } from 'better-sqlite3';
import { errorCode } from '../../engine/errors.js';
import { GroupCommit } from '../group-commit.js';

/** Collects the sums of a commit's writes, to write them once at its end. */
export interface WriteBuffer {
  /** Writes them, inside the commit. */
  write(): void;
  /** Forgets them: the commit was rolled back. */
  drop(): void;
}

const MOST_IN_ONE = 512;
const RETRY_MS = 5;
/** Time for which another process may hold the database before calls are refused, milliseconds. */
const BUSY_TIMEOUT_MS = 5_000;

export interface CommitParts {
  /** Puts on the disk all that was committed before it was called, while further calls come in. */
  readonly sync: () => Promise<void>;
  /** Told when the disk is full. */
  readonly onFull: () => void;
  /** Written at the end of each commit. */
  readonly buffers: readonly WriteBuffer[];
}

interface Done {
  readonly value: unknown;
}

/**
 * Writes that share their commits, on a connection that nothing else uses and that doesn't sync by itself: one sync to the disk
 * serves all that came meanwhile.
 */
export class Commits {
  readonly #db: Database;
  readonly #parts: CommitParts;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #rollback: Statement;
  readonly #commits: GroupCommit<() => unknown, Done>;
  /** One sync at a time: it serves all commits before it, and those meanwhile share the next one. */
  readonly #syncs: GroupCommit<true, true>;
  #keptBack = 0;
  #asked = 0;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(db: Database, parts: CommitParts) {
    this.#db = db;
    this.#parts = parts;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#rollback = db.prepare('ROLLBACK');
    this.#commits = new GroupCommit((works) => this.#write(works), { lanes: 1, mostInOne: MOST_IN_ONE });
    this.#syncs = new GroupCommit((committed) => parts.sync().then(() => committed), { lanes: 1 });
  }

  /** Number of writes that wait for a commit. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Number of writes that were asked for since it was opened. */
  get asked(): number {
    return this.#asked;
  }

  /** Runs `work` in the next commit. Resolves when that is on the disk; a throw of `work` rejects it alone. */
  async run<T>(work: () => T): Promise<T> {
    return this.#add(work, false);
  }

  /** The same, resolved when the system has it: it outlives this process, and is on the disk with any later `run`. */
  async runAhead<T>(work: () => T): Promise<T> {
    return this.#add(work, true);
  }

  /** Keeps commits back while `work` runs a transaction of its own on another connection. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    this.#keptBack += 1;
    const done = this.#last.then(work).finally(() => {
      this.#keptBack -= 1;
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when nothing waits; later work is refused. */
  async close(): Promise<void> {
    await this.#commits.close();
    await this.#syncs.close();
  }

  async #add<T>(work: () => T, isAhead: boolean): Promise<T> {
    this.#asked += 1;
    this.#waiting += 1;
    try {
      const { value } = await this.#commits.add(work);
      if (!isAhead) await this.#syncs.add(true);
      return value as T;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #write(works: readonly (() => unknown)[]): Promise<readonly (Done | Error)[]> {
    try {
      let busySince = performance.now();
      // From here to the commit nothing is awaited: no transaction of another connection comes in between.
      for (;;) {
        if (this.#keptBack > 0) {
          await this.#last;
          busySince = performance.now();
        } else if (this.#hasBegun(busySince)) break;
        else await setTimeout(RETRY_MS);
      }
      const results = works.map((work) => this.#run(work));
      for (const buffer of this.#parts.buffers) buffer.write();
      this.#commit.run();
      return results;
    } catch (error) {
      if (this.#db.inTransaction) this.#rollback.run();
      for (const buffer of this.#parts.buffers) buffer.drop();
      if (errorCode(error) === 'SQLITE_FULL') this.#parts.onFull();
      throw error;
    }
  }

  /** False where another process holds the database and there is time to wait. */
  #hasBegun(busySince: number): boolean {
    try {
      this.#begin.run();
      return true;
    } catch (error) {
      if (errorCode(error).startsWith('SQLITE_BUSY') && performance.now() - busySince < BUSY_TIMEOUT_MS) return false;
      throw error;
    }
  }

  #run(work: () => unknown): Done | Error {
    try {
      return { value: work() };
    } catch (error) {
      // The failed statement is undone, the transaction stands: unless the database says otherwise.
      if (!this.#db.inTransaction || errorCode(error) === 'SQLITE_FULL') throw error;
      return error as Error;
    }
  }
}
