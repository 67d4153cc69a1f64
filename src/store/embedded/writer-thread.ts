import { asError } from '../../adapters/peer.js';
import { type Backoff, createBackoff, startWorker, type Worker } from '../../adapters/worker.js';
import { GroupCommit } from '../group-commit.js';
import type { Plans } from '../plans.js';
import { isStoreCode, StoreError } from '../store-error.js';
import type { Writer, WriterJob, WriterParts } from './writer.js';

export interface WriterThreadParts extends WriterParts {
  readonly plans: Plans;
  readonly program: string;
  /** Rest before the second restart in a row, milliseconds; doubles up to 5 s. Default 100. */
  readonly restartMs?: number | undefined;
}

/**
 * Messages with calls and records on their way at once: one that is written and one that comes next. What is asked for
 * meanwhile waits for the next message, since to wake the thread costs more than a record.
 */
const MESSAGES_AT_ONCE = 2;

const MAX_RESTART_MS = 5_000;

const lost = (): StoreError => new StoreError('STORE_UNAVAILABLE', 'the thread that writes the database ended');

/**
 * Opens a writer on a thread of its own. All that waits when the thread ends is refused, though it may have been written, and so
 * is what comes before there is a new one.
 *
 * @throws what the thread says of the database
 */
export async function openWriterThread(parts: WriterThreadParts): Promise<Writer> {
  const writer = new WriterThread(parts);
  await writer.start();
  return {
    charge: (accountId, at) => writer.call({ kind: 'charge', accountId, at }),
    append: (row) => writer.call({ kind: 'append', row, at: null }),
    appendCounted: (row, at) => writer.call({ kind: 'append', row, at }),
    deleteBefore: (accountId, before, limit) => writer.ask({ kind: 'delete', accountId, before, limit }),
    emptyLog: () => writer.ask({ kind: 'empty-log' }),
    alone: (work) => writer.alone(work),
    problems: () => (writer.isUp ? [] : ['the thread that writes the database has ended; it is started again']),
    close: () => writer.close(),
  };
}

class WriterThread {
  readonly #parts: WriterThreadParts;
  readonly #backoff: Backoff;
  readonly #calls: GroupCommit<WriterJob, unknown>;
  #thread: Worker | undefined;
  #holds = 0;
  #restart: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: WriterThreadParts) {
    this.#parts = parts;
    this.#backoff = createBackoff(parts.restartMs ?? 100, MAX_RESTART_MS);
    this.#calls = new GroupCommit((jobs) => jobs.map((job) => this.#tell(job)), { lanes: MESSAGES_AT_ONCE });
  }

  get isUp(): boolean {
    return this.#thread !== undefined;
  }

  async start(): Promise<void> {
    const { file, plans, program, onFull } = this.#parts;
    let isUp = false;
    const started = startWorker({
      file: program,
      isThread: true,
      answer: () => onFull(),
      toError(failure) {
        if (isStoreCode(failure.code)) return new StoreError(failure.code, failure.message);
        return isUp && failure.code === 'WORKER_ENDED' ? lost() : asError(failure);
      },
      onEnd: () => {
        this.#thread = undefined;
        // The end of one that never came up is told by its first request.
        if (isUp) this.#startLater();
      },
    });
    const settings = { file, plans: { all: plans.all, overagePackCalls: plans.overagePackCalls } };
    try {
      await started.ask({ kind: 'open', settings } satisfies WriterJob);
    } catch (error) {
      started.kill();
      throw error;
    }
    isUp = true;
    if (this.#closing === undefined) this.#thread = started;
    else started.kill();
  }

  /** Charges and records: they go together. */
  call<T>(job: WriterJob): Promise<T> {
    return this.#calls.add(job) as Promise<T>;
  }

  /** Other jobs, which may take long, or be what the calls before them wait for. */
  ask<T>(job: WriterJob): Promise<T> {
    return this.#closing === undefined
      ? this.#tell(job)
      : Promise.reject(new StoreError('STORE_CLOSED', 'the store is closed'));
  }

  async alone<T>(work: () => Promise<T>): Promise<T> {
    const id = this.#holds++;
    await this.ask({ kind: 'hold', id });
    try {
      return await work();
    } finally {
      // A thread that has ended holds nothing.
      this.#tell({ kind: 'release', id }).catch(() => undefined);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#restart);
    await this.#calls.close();
    const last = this.#thread;
    if (last === undefined) return;
    await last.ask({ kind: 'close' } satisfies WriterJob);
    last.kill();
  }

  #startLater(): void {
    if (this.#closing !== undefined) return;
    const start = (): void => void this.start().catch(() => this.#startLater());
    this.#restart = setTimeout(start, this.#backoff.next());
  }

  async #tell<T>(job: WriterJob): Promise<T> {
    if (this.#thread === undefined) throw lost();
    const value = await this.#thread.ask<T>(job);
    this.#backoff.reset();
    return value;
  }
}
