import { Worker } from 'node:worker_threads';
import { createBackoff } from '../../adapters/supervisor.js';
import type { Charge } from '../account-store.js';
import type { Plans } from '../plans.js';
import { StoreError, type StoreErrorCode } from '../store-error.js';
import {
  type FromWriter,
  packJobs,
  type Writer,
  type WriterAnswer,
  type WriterFailure,
  type WriterJob,
  type WriterParts,
  type WriterSettings,
} from './writer.js';

/** The parts of a writer on its own thread. */
export interface WriterThreadParts extends WriterParts {
  readonly plans: Plans;
  /** The thread's program. */
  readonly program: string;
  /** Rest before the second restart in a row, milliseconds; doubles up to 5 s. Default 100. */
  readonly restartMs?: number | undefined;
}

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  /** The message that its job went out with. */
  batch: Batch | undefined;
}

/** Calls and records that went out in one message. */
interface Batch {
  unanswered: number;
}

/**
 * Messages with calls and records on their way at once: one that is written and one that comes next. What is asked for
 * meanwhile waits for the next message, since to wake the thread costs more than a record.
 */
const MOST_BATCHES = 2;

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
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let jobs: WriterJob[] = [];
  let nextId = 1;
  const backoff = createBackoff(restartMs, MAX_RESTART_MS);
  /** A thread has been up: its end, and that of those after it, is followed by a restart. */
  let hasBeenUp = false;
  let batches = 0;
  let restart: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;

  const settle = (answer: WriterAnswer): void => {
    const one = waiting.get(answer.id);
    if (one === undefined) return;
    waiting.delete(answer.id);
    if (one.batch !== undefined) {
      one.batch.unanswered -= 1;
      if (one.batch.unanswered === 0) batches -= 1;
    }
    if ('failed' in answer) one.reject(toError(answer.failed));
    else one.resolve(answer.value as never);
  };

  const onExit = (): void => {
    thread = undefined;
    jobs = [];
    batches = 0;
    const refused = [...waiting.values()];
    waiting.clear();
    for (const { reject } of refused) reject(lost());
    if (closing !== undefined) return;
    restart = setTimeout(() => void start().catch(() => undefined), backoff.next());
  };

  function start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const started = new Worker(program, { workerData: settings });
      started.on('message', (message: FromWriter) => {
        if (message.kind === 'answers') {
          backoff.reset();
          for (const answer of message.answers) settle(answer);
          if (jobs.length > 0) planFlush();
        } else if (message.kind === 'full') onFull();
        else if (message.kind === 'refused') reject(toError(message.failed));
        else if (closing !== undefined) void started.terminate();
        else {
          hasBeenUp = true;
          thread = started;
          resolve();
        }
      });
      // The reason for its failure is in its exit message.
      started.on('error', reject);
      started.on('exit', () => {
        reject(lost());
        if (hasBeenUp) onExit();
      });
    });
  }

  const isCall = ({ kind }: WriterJob): boolean => kind === 'append' || kind === 'charge';
  const flush = (): void => {
    planned = false;
    const isUrgent = jobs.length > 0 && !jobs.every(isCall);
    if (jobs.length === 0 || (batches >= MOST_BATCHES && !isUrgent)) return;
    // What isn't a call may take long, or be what the calls before it wait for.
    if (!isUrgent) {
      const batch = { unanswered: jobs.length };
      for (const { id } of jobs) {
        const one = waiting.get(id);
        if (one !== undefined) one.batch = batch;
      }
      batches += 1;
    }
    thread?.postMessage(packJobs(jobs));
    jobs = [];
  };
  let planned = false;
  const planFlush = (): void => {
    if (planned) return;
    planned = true;
    setImmediate(flush);
  };
  const send = (job: WriterJob): void => {
    jobs.push(job);
    planFlush();
  };
  const ask = <T>(jobOf: (id: number) => WriterJob): Promise<T> =>
    new Promise((resolve, reject) => {
      if (closing !== undefined) reject(new StoreError('STORE_CLOSED', 'the store is closed'));
      else if (thread === undefined) reject(lost());
      else {
        const id = nextId++;
        waiting.set(id, { resolve, reject, batch: undefined });
        send(jobOf(id));
      }
    });

  const close = async (): Promise<void> => {
    clearTimeout(restart);
    const last = thread;
    if (last === undefined) return;
    const ended = new Promise((resolve) => last.once('exit', resolve));
    const id = nextId++;
    const closed = new Promise<void>((resolve, reject) => waiting.set(id, { resolve, reject, batch: undefined }));
    send({ kind: 'close', id });
    await closed;
    await ended;
  };

  await start();
  return {
    charge: (accountId, at) => ask<Charge>((id) => ({ kind: 'charge', id, accountId, at })),
    append: (row) => ask<void>((id) => ({ kind: 'append', id, row, at: null })),
    appendCounted: (row, at) => ask<Charge>((id) => ({ kind: 'append', id, row, at })),
    deleteBefore: (accountId, before, limit) => ask<number>((id) => ({ kind: 'delete', id, accountId, before, limit })),
    emptyLog: () => ask<void>((id) => ({ kind: 'empty-log', id })),
    async alone(work) {
      let held = 0;
      await ask<void>((id) => {
        held = id;
        return { kind: 'hold', id };
      });
      try {
        return await work();
      } finally {
        send({ kind: 'release', id: held });
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

function toError({ message, code, isOwn }: WriterFailure): Error {
  return isOwn ? new StoreError(code as StoreErrorCode, message) : Object.assign(new Error(message), { code });
}
