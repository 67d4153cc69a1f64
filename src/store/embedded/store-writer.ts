import { serveWorker } from '../../adapters/peer.js';
import { buildPlans } from '../plans.js';
import { StoreError } from '../store-error.js';
import { openWriter, type Writer, type WriterJob, type WriterSettings } from './writer.js';

/** The thread that `writer-thread.ts` starts: it writes what it is asked to. */

let writer: Writer | undefined;
const releases = new Map<number, () => void>();
const peer = serveWorker(answer);

function answer(job: WriterJob): unknown {
  if (job.kind === 'open') return open(job.settings);
  if (writer === undefined) throw new StoreError('STORE_CLOSED', 'the store is closed');
  switch (job.kind) {
    case 'charge':
      return writer.charge(job.accountId, job.at);
    case 'append':
      return job.at === null ? writer.append(job.row) : writer.appendCounted(job.row, job.at);
    case 'delete':
      return writer.deleteBefore(job.accountId, job.before, job.limit);
    case 'empty-log':
      return writer.emptyLog();
    case 'hold':
      return hold(writer, job.id);
    case 'release':
      releases.get(job.id)?.();
      releases.delete(job.id);
      return undefined;
    case 'close':
      return writer.close();
  }
}

async function open({ file, plans }: WriterSettings): Promise<void> {
  const onFull = (): void => void peer.ask({ kind: 'full' });
  writer = await openWriter({ file, plans: buildPlans(plans), onFull });
}

function hold(held: Writer, id: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const work = () =>
      new Promise<void>((release) => {
        releases.set(id, release);
        resolve();
      });
    held.alone(work).catch(reject);
  });
}
