import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKeyedLimit, createLimit, orderedMap } from '../../src/engine/limit.js';
import { manualClock } from './manual-clock.js';

async function* from<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const item of items) yield item;
}
const all = async <Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> => {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
};

const within = (sizes: readonly number[], items: number, size: number): boolean =>
  sizes.length <= 1 || (sizes.length <= items && sizes.reduce((sum, one) => sum + one, 0) <= size);

test('gives results in order and never has more under way than the bounds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(9)),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 12 }),
      async (sizes, items, size) => {
        const now: number[] = [];
        const begin = async (own: number): Promise<number> => {
          now.push(own);
          // The first one may be on its way out.
          expect(within(now, items, size) || within(now.slice(1), items, size)).toBe(true);
          for (let turn = own % 3; turn > 0; turn -= 1) await new Promise(setImmediate);
          return own;
        };
        const given: number[] = [];
        for await (const own of orderedMap(from(sizes), begin, { items, size: { max: size, of: (own) => own } })) {
          given.push(own);
          now.splice(now.indexOf(own), 1);
        }
        expect(given).toEqual(sizes);
      },
    ),
    { numRuns: 50 },
  );
});

test('a result is there while the source has nothing new', async () => {
  async function* once(): AsyncGenerator<number> {
    yield 1;
    await new Promise(() => {});
  }
  const results = orderedMap(once(), async (one) => one + 1, { items: 10, size: { max: 10, of: () => 1 } });
  expect(await results.next()).toEqual({ value: 2, done: false });
  // Stopping doesn't wait for a source that gives nothing more.
  expect(await Promise.race([results.return(undefined), sleep(2_000, 'late')])).toEqual({
    value: undefined,
    done: true,
  });
});

test('an error of the source or of the work comes at its turn', async () => {
  async function* broken(): AsyncGenerator<number> {
    yield 1;
    throw new Error('source');
  }
  const given: number[] = [];
  const read = async (work: (one: number) => Promise<number>): Promise<void> => {
    for await (const one of orderedMap(broken(), work, { items: 5 })) given.push(one);
  };
  await expect(read(async (one) => one)).rejects.toThrow('source');
  expect(given).toEqual([1]);
  await expect(read(() => Promise.reject(new Error('work')))).rejects.toThrow('work');
  expect(await all(orderedMap(from([1]), async (one) => one, { items: 1, size: { max: 1, of: () => 9 } }))).toEqual([
    1,
  ]);
});

test('a keyed limit lets so many of each key in, and one more for each that leaves', () => {
  const limit = createKeyedLimit(2);
  const [first, second, other] = [limit.enter('a'), limit.enter('a'), limit.enter('b')];
  expect([first, second, other].every((leave) => leave !== undefined)).toBe(true);
  expect(limit.enter('a')).toBeUndefined();
  expect(limit.full).toEqual(['a']);
  first?.();
  expect(limit.full).toEqual([]);
  expect(limit.enter('a')).toBeDefined();
  first?.();
  expect(limit.enter('a')).toBeUndefined();
});

interface Job {
  /** Time between the previous job and this one, and of its work; milliseconds. */
  readonly gap: number;
  readonly duration: number;
  readonly timeoutMs: number | undefined;
  readonly fails: boolean;
}

const job = fc.record({
  gap: fc.nat(4),
  duration: fc.integer({ min: 1, max: 12 }),
  timeoutMs: fc.option(fc.integer({ min: 1, max: 15 }), { nil: undefined }),
  fails: fc.boolean(),
});
const settle = (): Promise<void> => new Promise(setImmediate);

test('a limit has one piece of work a place, starts them in order, and has every place back at the end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(job, { minLength: 1, maxLength: 20 }),
      async (count, jobs) => {
        const clock = manualClock();
        const begin = clock.now();
        const places = Array.from({ length: count }, (_, place) => place);
        const limit = createLimit(places, { clock, error: () => new Error('late') });
        const taken = new Set<number>();
        const started: number[] = [];
        const outcomes: string[] = [];
        const waiting = new Set<number>();

        const ask = (own: number, { duration, timeoutMs, fails }: Job): void => {
          const work = (place: number): Promise<string> => {
            expect(taken).not.toContain(place);
            taken.add(place);
            started.push(own);
            waiting.delete(own);
            return new Promise((resolve, reject) => {
              clock.after(duration, () => {
                taken.delete(place);
                if (fails) reject(new Error('failed'));
                else resolve('done');
              });
            });
          };
          const end = (outcome: string): void => {
            expect(outcomes[own]).toBeUndefined();
            outcomes[own] = `${outcome} at ${clock.now() - begin}`;
            waiting.delete(own);
          };
          waiting.add(own);
          void limit(work, timeoutMs).then(end, ({ message }) => end(message));
        };

        // The same by hand: each place is free from a time on, and the first of those that wait takes the first free one.
        const freeAt = places.map(() => 0);
        const expected: string[] = [];
        const inOrder: number[] = [];
        let asked = 0;
        for (const [own, { gap, duration, timeoutMs = Number.POSITIVE_INFINITY, fails }] of jobs.entries()) {
          asked += gap;
          const start = Math.max(asked, Math.min(...freeAt));
          const late = asked + timeoutMs;
          if (start < late) {
            freeAt[freeAt.indexOf(Math.min(...freeAt))] = start + duration;
            inOrder.push(own);
          }
          const end = start + duration;
          expected.push(end < late ? `${fails ? 'failed' : 'done'} at ${end}` : `late at ${late}`);
        }

        let next = 0;
        let since = 0;
        while (outcomes.filter(Boolean).length < jobs.length || taken.size > 0) {
          for (; jobs[next] !== undefined && since === jobs[next]?.gap; next += 1, since = 0)
            ask(next, jobs[next] as Job);
          await settle();
          expect(waiting.size === 0 || taken.size === count).toBe(true);
          clock.advance(1);
          since += 1;
          await settle();
        }
        expect(started).toEqual(inOrder);
        expect(outcomes).toEqual(expected);

        const free: number[] = [];
        const stay = (place: number): Promise<never> => {
          free.push(place);
          return new Promise(() => {});
        };
        for (const _ of places) void limit(stay);
        expect(free.sort()).toEqual(places);
      },
    ),
    { numRuns: 60 },
  );
});

test('a keyed limit never lets more in, and a place comes back once', () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), enters: fc.boolean(), which: fc.nat() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60 }), (most, steps) => {
      const limit = createKeyedLimit(most);
      const leaves: { readonly key: string; readonly leave: () => void }[] = [];
      const inside = new Map<string, Set<() => void>>();
      for (const { key, enters, which } of steps) {
        if (enters) {
          const holders = inside.get(key) ?? new Set();
          inside.set(key, holders);
          const leave = limit.enter(key);
          expect(leave !== undefined).toBe(holders.size < most);
          if (leave === undefined) continue;
          leaves.push({ key, leave });
          holders.add(leave);
        } else if (leaves.length > 0) {
          // Any that ever entered, so that some leave twice.
          const { key: own, leave } = leaves[which % leaves.length] as (typeof leaves)[number];
          leave();
          inside.get(own)?.delete(leave);
        }
        expect([...limit.full].sort()).toEqual(
          [...inside]
            .filter(([, { size }]) => size === most)
            .map(([k]) => k)
            .sort(),
        );
      }
      for (const { leave } of leaves) leave();
      expect(limit.full).toEqual([]);
      for (const key of inside.keys())
        expect(Array.from({ length: most + 1 }, () => limit.enter(key) !== undefined)).toEqual(
          Array.from({ length: most + 1 }, (_, i) => i < most),
        );
    }),
    { numRuns: 200 },
  );
});

test('work that throws at once gives its place back', async () => {
  const limit = createLimit(['only']);
  const thrown = () => {
    throw new Error('at once');
  };
  await expect(limit(thrown)).rejects.toThrow('at once');
  expect(await limit(async (place) => place)).toBe('only');
});
