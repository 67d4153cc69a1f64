import { asError, type Failure } from '../../adapters/peer.js';
import { createBackoff, startWorker, type Worker } from '../../adapters/worker.js';
import type { Charge } from '../account-store.js';
import { openBatcher } from '../batcher.js';
import type { Plans } from '../plans.js';
import { StoreError, type StoreErrorCode } from '../store-error.js';
import { packRow, type Writer, type WriterJob, type WriterParts, type WriterSettings } from './writer.js';

/** The parts of a writer on its own thread. */
export interface WriterThreadParts extends WriterParts {
  readonly plans: Plans;
  /** The thread's program. */
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
 * A writer on a thread of its own. All that waits when the thread ends is refused, though it may have been written, and so
 * is what comes before there is a new one.
 *
 * @throws what the thread says of the database
 */
export async function openWriterThread(parts: WriterThreadParts): Promise<Writer> {
  const { file, plans, program, onFull, restartMs = 100 } = parts;
  const settings: WriterSettings = { file, plans: { all: plans.all, overagePackCalls: plans.overagePackCalls } };
  const backoff = createBackoff(restartMs, MAX_RESTART_MS);
  let thread: Worker | undefined;
  let turns = 0;
  let restart: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;

  async function start(): Promise<void> {
    let isUp = false;
    const toError = (failure: Failure): Error => {
      if (failure.name === 'StoreError') return new StoreError(failure.code as StoreErrorCode, failure.message);
      return isUp && failure.name === 'WorkerError' ? lost() : asError(failure);
    };
    const onEnd = (): void => {
      thread = undefined;
      // The end of one that never came up is told by its first request.
      if (isUp) restartLater();
    };
    const started = startWorker({ file: program, isThread: true, toError, answer: () => onFull(), onEnd });
    try {
      await started.ask({ kind: 'open', settings } satisfies WriterJob);
    } catch (error) {
      started.kill();
      throw error;
    }
    isUp = true;
    if (closing === undefined) thread = started;
    else started.kill();
  }

  function restartLater(): void {
    if (closing === undefined) restart = setTimeout(() => void start().catch(restartLater), backoff.next());
  }

  async function tell<T>(job: WriterJob): Promise<T> {
    if (thread === undefined) throw lost();
    const value = await thread.ask<T>(job);
    backoff.reset();
    return value;
  }

  const ask = <T>(job: WriterJob): Promise<T> =>
    closing === undefined ? tell(job) : Promise.reject(new StoreError('STORE_CLOSED', 'the store is closed'));
  const calls = openBatcher((jobs: readonly WriterJob[]) => jobs.map((job) => tell<unknown>(job)), {
    lanes: MESSAGES_AT_ONCE,
  });

  const close = async (): Promise<void> => {
    clearTimeout(restart);
    await calls.close();
    const last = thread;
    if (last === undefined) return;
    await last.ask({ kind: 'close' } satisfies WriterJob);
    last.kill();
  };

  await start();
  return {
    charge: (accountId, at) => calls.add({ kind: 'charge', accountId, at }) as Promise<Charge>,
    append: (row) => calls.add({ kind: 'append', row: packRow(row), at: null }) as Promise<void>,
    appendCounted: (row, at) => calls.add({ kind: 'append', row: packRow(row), at }) as Promise<Charge>,
    // Other jobs may take long, or be what the calls before them wait for.
    deleteBefore: (accountId, before, limit) => ask({ kind: 'delete', accountId, before, limit }),
    emptyLog: () => ask({ kind: 'empty-log' }),
    async alone(work) {
      const turn = turns++;
      await ask({ kind: 'hold', turn });
      try {
        return await work();
      } finally {
        // A thread that has ended holds nothing.
        tell({ kind: 'release', turn }).catch(() => undefined);
      }
    },
    problems: () =>
      thread === undefined ? ['the thread that writes the database has ended; it is started again'] : [],
    close() {
      closing ??= close();
      return closing;
    },
  };
}
