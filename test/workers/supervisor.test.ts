import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createBackoff, forkChild } from '../../src/adapters/supervisor.js';

const file = join(mkdtempSync(join(tmpdir(), 'portcullis-child-')), 'child.mjs');
writeFileSync(
  file,
  `process.on('message', (message) => {
     if (message === 'throw') throw new Error('a child that fails');
     if (message === 'exit') process.exit(0);
     if (message === 'secrets') process.send(Object.keys(process.env).filter((name) => name.startsWith('PORTCULLIS')));
     else process.send({ echo: message });
   });
   process.on('disconnect', () => process.exit(0));`,
);

/** A child of the program above, with all that it said and how it ended. */
function startChild() {
  const said: unknown[] = [];
  const ends: boolean[] = [];
  let told = (): void => {};
  const child = forkChild<unknown, unknown>({
    file,
    heapMb: 64,
    onMessage(message) {
      said.push(message);
      told();
    },
    onEnd(isForeignKill) {
      ends.push(isForeignKill);
      told();
    },
  });
  child.hold(true);
  const next = () =>
    new Promise<void>((resolve) => {
      told = resolve;
    });
  return { child, said, ends, next };
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

describe('a forked child', () => {
  it('gets messages and none of the environment’s secrets', async () => {
    process.env.PORTCULLIS_KEY_PEPPER = 'a secret of the parent, 32 characters';
    const { child, said, next } = startChild();
    child.send({ bytes: new Uint8Array([1, 2]) });
    await next();
    child.send('secrets');
    await next();
    delete process.env.PORTCULLIS_KEY_PEPPER;
    expect(said).toEqual([{ echo: { bytes: new Uint8Array([1, 2]) } }, []]);
    child.kill();
  });

  it.each([
    { how: 'it throws', end: (it: ReturnType<typeof startChild>) => it.child.send('throw'), isForeign: false },
    { how: 'it exits', end: (it: ReturnType<typeof startChild>) => it.child.send('exit'), isForeign: false },
    { how: 'this process kills it', end: (it: ReturnType<typeof startChild>) => it.child.kill(), isForeign: false },
    {
      how: 'somebody else kills it',
      end: (it: ReturnType<typeof startChild>) => process.kill(it.child.pid ?? 0, 'SIGKILL'),
      isForeign: true,
    },
  ])('tells its end once: $how', async ({ end, isForeign }) => {
    const it = startChild();
    it.child.send('hello');
    await it.next();
    end(it);
    await it.next();
    expect(it.child.isAlive()).toBe(false);
    it.child.send('to nobody');
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(it.ends).toEqual([isForeign]);
  });

  it('that isn’t there ends, too', async () => {
    const ends: boolean[] = [];
    const ended = new Promise<void>((resolve) => {
      const child = forkChild({
        file: `${file}.missing`,
        heapMb: 64,
        onMessage: () => {},
        onEnd: (it) => {
          ends.push(it);
          resolve();
        },
      });
      child.hold(true);
    });
    await ended;
    expect(ends).toEqual([false]);
  });
});
