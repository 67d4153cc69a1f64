import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { buildPlans } from '../plans.js';
import { StoreError } from '../store-error.js';
import {
  type FromWriter,
  openWriter,
  type PackedJobs,
  unpackJobs,
  type Writer,
  type WriterAnswer,
  type WriterFailure,
  type WriterJob,
  type WriterSettings,
} from './writer.js';

/** The thread that `writer-thread.ts` starts. */

if (parentPort === null) throw new Error('this program is a thread of the store');
await serveWriter(parentPort, workerData as WriterSettings);

/** Writes what comes through a port until it gets the message to close. */
export async function serveWriter(port: MessagePort, { file, plans }: WriterSettings): Promise<void> {
  const say = (message: FromWriter): void => port.postMessage(message);
  let writer: Writer;
  try {
    writer = await openWriter({ file, plans: buildPlans(plans), onFull: () => say({ kind: 'full' }) });
  } catch (error) {
    say({ kind: 'refused', failed: toFailure(error) });
    port.close();
    return;
  }
  let answers: WriterAnswer[] = [];
  const releases = new Map<number, () => void>();

  const answer = (one: WriterAnswer): void => {
    answers.push(one);
    if (answers.length > 1) return;
    // After those that the same commit settles: one message for all.
    queueMicrotask(() => {
      say({ kind: 'answers', answers });
      answers = [];
    });
  };
  const settle = (id: number, work: Promise<unknown>): void => {
    work.then(
      (value) => answer({ id, value }),
      (error: unknown) => answer({ id, failed: toFailure(error) }),
    );
  };
  const hold = (id: number): Promise<void> =>
    writer.alone(
      () =>
        new Promise((resolve) => {
          releases.set(id, resolve);
          answer({ id, value: undefined });
        }),
    );
  const close = async (): Promise<void> => {
    await writer.close();
    // The last answer goes out first.
    setImmediate(() => port.close());
  };

  const take = (job: WriterJob): void => {
    switch (job.kind) {
      case 'charge':
        settle(job.id, writer.charge(job.accountId, job.at));
        break;
      case 'append':
        settle(job.id, job.at === null ? writer.append(job.row) : writer.appendCounted(job.row, job.at));
        break;
      case 'delete':
        settle(job.id, writer.deleteBefore(job.accountId, job.before, job.limit));
        break;
      case 'empty-log':
        settle(job.id, writer.emptyLog());
        break;
      case 'hold':
        void hold(job.id);
        break;
      case 'release':
        releases.get(job.id)?.();
        releases.delete(job.id);
        break;
      case 'close':
        settle(job.id, close());
        break;
    }
  };
  port.on('message', (message: PackedJobs) => {
    for (const job of unpackJobs(message)) take(job);
  });
  say({ kind: 'ready' });
}

function toFailure(error: unknown): WriterFailure {
  const message = error instanceof Error ? error.message : 'unknown error';
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return { message, code, isOwn: error instanceof StoreError };
}
