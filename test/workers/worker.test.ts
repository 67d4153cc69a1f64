import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type AnswerOptions, asError, type Packet, Peer } from '../../src/adapters/peer.js';
import { createBackoff, startWorker, type Worker, type WorkerOptions } from '../../src/adapters/worker.js';
import { BatchError } from '../../src/batch/formats/file-format.js';
import { PortcullisError } from '../../src/engine/errors.js';

const file = join(mkdtempSync(join(tmpdir(), 'portcullis-child-')), 'child.mjs');
writeFileSync(
  file,
  `import { parentPort } from 'node:worker_threads';
   const say = (packet) => (parentPort ? parentPort.postMessage(packet) : process.send(packet));
   (parentPort ?? process).on('message', ({ messages }) => {
     for (const { ask, body, reply, value } of messages) {
       if (reply !== undefined) say({ messages: [{ reply: asking, value: { answered: value } }], memoryBytes: 7 });
       else if (body === 'throw') setImmediate(() => { throw new Error('a child that fails'); });
       else if (body === 'exit') process.exit(0);
       else if (body === 'hang') for (;;);
       else if (body === 'grow') for (const all = []; ; ) all.push(new Array(1e5).fill({}));
       else if (body === 'fail') say({ messages: [{ reply: ask, failed: { name: 'X', code: 'Y', message: 'Z' } }], memoryBytes: 7 });
       else if (body === 'question') { asking = ask; say({ messages: [{ ask: 1, body: 'what?' }], memoryBytes: 7 }); }
       else if (body !== 'silence') {
         const secrets = Object.keys(process.env).filter((name) => name.startsWith('PORTCULLIS'));
         say({ messages: [{ reply: ask, value: body === 'secrets' ? secrets : { echo: body, together: messages.length } }], memoryBytes: 7 });
       }
     }
   });
   let asking;
   process.on('disconnect', () => process.exit(0));`,
);

/** A worker of the program above, with how it ended. */
function start(options: Partial<WorkerOptions> = {}) {
  const ends: boolean[] = [];
  const worker = startWorker({ file, heapMb: 64, onEnd: (isForeign) => void ends.push(isForeign), ...options });
  return { worker, ends };
}

describe('the wait before a restart', () => {
  it.each([
    { name: 'the first at once', atOnce: true, waits: [0, 100, 200, 400, 500, 500] },
    { name: 'each one waited for', atOnce: false, waits: [100, 200, 400, 500, 500, 500] },
  ])('doubles up to its bound: $name', ({ atOnce, waits }) => {
    const backoff = createBackoff(100, 500, atOnce);
    expect(waits.map(() => backoff.next())).toEqual(waits);
    backoff.reset();
    expect(backoff.next()).toBe(waits[0]);
  });
});

describe.each([
  ['process', false],
  ['thread', true],
])('a worker in a %s', (_, isThread) => {
  it('replies, and gets none of the environment’s secrets', async () => {
    process.env.PORTCULLIS_KEY_PEPPER = 'a secret of the parent, 32 characters';
    const { worker } = start({ isThread });
    const bytes = new Uint8Array([1, 2]);
    expect(await worker.ask({ bytes })).toEqual({ echo: { bytes }, together: 1 });
    expect(await worker.ask('secrets')).toEqual([]);
    delete process.env.PORTCULLIS_KEY_PEPPER;
    expect(worker.memoryBytes()).toBe(7);
    worker.kill();
  });

  it('gets the requests of a turn in one message, and gives each its own reply', async () => {
    const { worker } = start({ isThread });
    const replies = await Promise.all([worker.ask('a'), worker.ask('b'), worker.ask('c')]);
    expect(replies).toEqual(['a', 'b', 'c'].map((echo) => ({ echo, together: 3 })));
    worker.kill();
  });

  it('fails with the name and code of its error, and goes on', async () => {
    const { worker } = start({ isThread });
    await expect(worker.ask('fail')).rejects.toMatchObject({ name: 'X', code: 'Y', message: 'Z' });
    expect(await worker.ask('a')).toMatchObject({ echo: 'a' });
    worker.kill();
  });

  it('asks in the middle of a request', async () => {
    const { worker } = start({ isThread, answer: (question) => `${question} 42` });
    expect(await worker.ask('question')).toEqual({ answered: 'what? 42' });
    worker.kill();
  });

  it('that is late is killed, and all that waits for it is rejected', async () => {
    const { worker } = start({ isThread });
    await worker.ask('a');
    const both = [worker.ask('silence', 100), worker.ask('silence')];
    const reasons = (await Promise.allSettled(both)).map((it) => it.status === 'rejected' && it.reason.code);
    expect(reasons).toEqual(['WORKER_LATE', 'WORKER_LATE']);
    expect(worker.isAlive()).toBe(false);
    await expect(worker.ask('a')).rejects.toMatchObject({ code: 'WORKER_LATE' });
  });
});

describe('the end of a worker', () => {
  it.each([
    { how: 'it throws', end: (it: Worker) => it.ask('throw'), isForeign: false },
    { how: 'it exits', end: (it: Worker) => it.ask('exit'), isForeign: false },
    { how: 'a thread throws', isThread: true, end: (it: Worker) => it.ask('throw'), isForeign: false },
    { how: 'a thread exits', isThread: true, end: (it: Worker) => it.ask('exit'), isForeign: false },
    { how: 'it needs more memory than its bound', end: (it: Worker) => it.ask('grow'), isForeign: false },
    { how: 'a thread needs more', isThread: true, end: (it: Worker) => it.ask('grow'), isForeign: false },
    { how: 'this process kills it', end: async (it: Worker) => it.kill(), isForeign: false },
    {
      how: 'this process kills a thread that works',
      isThread: true,
      end: (it: Worker) => {
        const asked = it.ask('hang');
        it.kill();
        return asked;
      },
      isForeign: false,
    },
    {
      how: 'somebody else kills it',
      end: async (it: Worker) => process.kill(it.pid ?? 0, 'SIGKILL'),
      isForeign: true,
    },
  ])('is told once, and rejects what waits: $how', async ({ end, isForeign, isThread }) => {
    const { worker, ends } = start({ isThread, canTerminate: isThread });
    await worker.ask('hello');
    const waiting = worker.ask('silence');
    end(worker).catch(() => undefined);
    await expect(waiting).rejects.toMatchObject({ code: 'WORKER_ENDED' });
    expect(worker.isAlive()).toBe(false);
    await expect(worker.ask('to nobody')).rejects.toMatchObject({ code: 'WORKER_ENDED' });
    await setTimeout(250);
    expect(ends).toEqual([isForeign]);
  });

  it.each([false, true])('comes for one that isn’t there, too (thread: %s)', async (isThread) => {
    const { worker, ends } = start({ isThread, file: `${file}.missing` });
    await expect(worker.ask('hello')).rejects.toMatchObject({ code: 'WORKER_ENDED' });
    expect(ends).toEqual([false]);
  });
});

describe('a peer', () => {
  /** Two peers whose packets cross as they do between processes: later, and cloned. */
  function connect(answer: (request: never) => unknown, options: AnswerOptions = {}) {
    const packets: number[] = [];
    const deliver = (to: () => Peer) => (messages: Packet['messages']) => {
      packets.push(messages.length);
      const packet = structuredClone({ messages, memoryBytes: 0 });
      setImmediate(() => to().take(packet));
    };
    const here: Peer = new Peer({ send: deliver(() => there), answer: () => 'here', toError: asError });
    const there: Peer = new Peer({ send: deliver(() => here), answer, toError: asError, ...options });
    return { here, there, packets };
  }

  it('gives each of many requests its own reply, whenever it comes', async () => {
    const { here } = connect(async (wait: number) => {
      if (wait > 0) await setTimeout(wait);
      if (wait === 3) throw new RangeError('three');
      return wait;
    });
    const waits = Array.from({ length: 300 }, (_, at) => (at * 7) % 5);
    const settled = await Promise.allSettled(waits.map((wait) => here.ask(wait)));
    expect(settled.map((it) => (it.status === 'fulfilled' ? it.value : it.reason.message))).toEqual(
      waits.map((wait) => (wait === 3 ? 'three' : wait)),
    );
  });

  it.each([
    { thrown: new BatchError('BATCH_INPUT', 'no such file'), isOurs: true, code: 'BATCH_INPUT' },
    { thrown: Object.assign(new Error('listen EACCES'), { code: 'EACCES' }), isOurs: false, code: 'EACCES' },
    { thrown: new TypeError('a bug'), isOurs: false, code: 'unknown' },
    { thrown: Object.assign(new TypeError('a bug'), { name: 'BatchError' }), isOurs: false, code: 'unknown' },
  ])('tells an error of this library by its class and code: $thrown', async ({ thrown, isOurs, code }) => {
    const { here } = connect(() => Promise.reject(thrown));
    const error: unknown = await here.ask('anything').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: thrown.message, name: thrown.name, code });
    expect(error instanceof PortcullisError).toBe(isOurs);
  });

  it('answers in order where it is asked to, and keeps nothing back once all is answered', async () => {
    const order: number[] = [];
    const answer = async (wait: number) => {
      await setTimeout(wait);
      order.push(wait);
    };
    const { here, packets } = connect(answer, { inOrder: true });
    await Promise.all([9, 5, 1].map((wait) => here.ask(wait)));
    expect(order).toEqual([9, 5, 1]);
    expect(packets.reduce((sum, size) => sum + size, 0)).toBe(6);
    expect(packets[0]).toBe(3);
  });

  it('sends what is kept back before work that may end it', async () => {
    const { here, there } = connect(
      async (request: string) => {
        there.flush();
        if (request === 'last') await new Promise(() => undefined);
        return request;
      },
      { inOrder: true },
    );
    const asked = ['a', 'b', 'last'].map((it) => here.ask(it));
    expect(await Promise.all(asked.slice(0, 2))).toEqual(['a', 'b']);
    here.end(new Error('over'));
    await expect(asked[2]).rejects.toThrow('over');
  });
});
