import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GroupCommit, type WriteBatch } from '../../src/store/group-commit.js';

/** Ways in which a write can end. */
const endings = ['results', 'promises', 'throws', 'rejects'] as const;

/** An ending, after so many turns of the event loop. */
interface WriteScript {
  readonly ending: (typeof endings)[number];
  readonly turns: number;
}

/** Outcome of an item in a write that succeeds; `unanswered` items have no result. */
type Fate = 'written' | 'refused' | 'unanswered';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function after<T>(turns: number, give: () => T): Promise<T> {
  for (let left = turns; left > 0; left -= 1) await turn();
  return give();
}

const script = fc.record({ ending: fc.constantFrom(...endings), turns: fc.nat(3) });
const fates = fc.constantFrom<Fate>('written', 'written', 'refused', 'unanswered');
const step = fc.record({ items: fc.array(fates, { maxLength: 9 }), pause: fc.nat(3) });

test('each item is written once, in order, within the bounds, and settles with its own outcome', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
      fc.array(step, { minLength: 1, maxLength: 8 }),
      fc.array(script, { minLength: 1, maxLength: 6 }),
      fc.nat(8),
      async (lanes, mostInOne, steps, scripts, closeAfter) => {
        const planned: Fate[] = [];
        const expected: string[] = [];
        const settled: string[] = [];
        let underWay = 0;
        let writes = 0;
        let written = 0;

        const leave = <T>(results: T): T => {
          underWay -= 1;
          return results;
        };
        const write: WriteBatch<number, string> = (items) => {
          const { ending, turns } = scripts[writes % scripts.length] as WriteScript;
          const own = `write ${writes}`;
          writes += 1;
          expect(items.length).toBeGreaterThan(0);
          expect(items.length).toBeLessThanOrEqual(mostInOne ?? Number.POSITIVE_INFINITY);
          expect(items).toEqual(items.map((_, i) => written + i));
          written += items.length;
          const fails = ending === 'throws' || ending === 'rejects';
          for (const item of items) expected[item] = fails ? `${own} failed` : `${planned[item]} ${item}`;
          if (ending === 'throws') throw new Error(`${own} failed`);

          underWay += 1;
          expect(underWay).toBeLessThanOrEqual(lanes);
          if (ending === 'rejects')
            return after(turns, () => {
              throw leave(new Error(`${own} failed`));
            });
          const resultOf = (item: number): string | Error | undefined => {
            if (planned[item] === 'unanswered') return undefined;
            return planned[item] === 'refused' ? new Error(`refused ${item}`) : `written ${item}`;
          };
          if (ending === 'results')
            return after(turns, () => leave(items.map(resultOf) as readonly (string | Error)[]));
          // One promise each: the lane is free when the last one has settled.
          let left = items.length;
          return items.map((item) =>
            after(turns + (item % 3), () => {
              left -= 1;
              if (left === 0) leave(undefined);
              if (planned[item] === 'written') return `written ${item}`;
              throw new Error(planned[item] === 'refused' ? `refused ${item}` : `unanswered ${item}`);
            }),
          );
        };

        const commits = new GroupCommit(write, { lanes, mostInOne });
        const waits: Promise<void>[] = [];
        const add = (fate: Fate): void => {
          const item = planned.push(fate) - 1;
          const settle = (outcome: string): void => {
            expect(settled[item]).toBeUndefined();
            settled[item] = outcome;
          };
          waits.push(
            commits.add(item).then(settle, ({ code, message }) => {
              settle(code === 'STORE_UNAVAILABLE' ? `unanswered ${item}` : message);
            }),
          );
        };

        let closing: Promise<void> | undefined;
        for (const [i, { items, pause }] of steps.entries()) {
          if (closing === undefined) for (const fate of items) add(fate);
          if (i === closeAfter) {
            closing = commits.close();
            await expect(commits.add(-1)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
          }
          for (let left = pause; left > 0; left -= 1) await turn();
        }
        await (closing ?? commits.close());
        await turn();
        expect(underWay).toBe(0);
        expect(written).toBe(planned.length);
        expect(settled).toEqual(expected);
        await Promise.all(waits);
      },
    ),
    { numRuns: 100 },
  );
});

test('every lane writes while items wait, and what comes meanwhile is written together', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 40 }),
      async (lanes, mostInOne, items) => {
        const sizes: number[] = [];
        const ends: (() => void)[] = [];
        const commits = new GroupCommit<number, number>(
          (batch) => {
            sizes.push(batch.length);
            return new Promise((resolve) => ends.push(() => resolve(batch)));
          },
          { lanes, mostInOne },
        );
        const all = Promise.all(Array.from({ length: items }, (_, i) => commits.add(i)));
        const writes = Math.ceil(items / mostInOne);
        for (let ended = 0; ended < writes; ended += 1) {
          // The end of a write, and the plan for the next one.
          await turn();
          await turn();
          expect(sizes.length).toBe(Math.min(writes, ended + lanes));
          ends[ended]?.();
        }
        expect(await all).toEqual(Array.from({ length: items }, (_, i) => i));
        expect(sizes.slice(0, -1).every((size) => size === mostInOne)).toBe(true);
      },
    ),
    { numRuns: 50 },
  );
});

test('closing waits for the writes under way', async () => {
  const ends: (() => void)[] = [];
  const commits = new GroupCommit<number, number>(
    (items) => new Promise((resolve) => ends.push(() => resolve(items))),
    {
      lanes: 1,
      mostInOne: 1,
    },
  );
  const writes = [commits.add(1), commits.add(2)];
  let isClosed = false;
  const closing = commits.close().then(() => {
    isClosed = true;
  });
  for (const left of [2, 1]) {
    for (let turns = 0; turns < 3; turns += 1) await turn();
    expect([isClosed, ends.length]).toEqual([false, 3 - left]);
    ends.at(-1)?.();
  }
  await closing;
  expect(await Promise.all(writes)).toEqual([1, 2]);
});

test('closing again waits for the same end', async () => {
  const commits = new GroupCommit<number, number>(async (items) => items, { lanes: 1 });
  const written = commits.add(1);
  await Promise.all([commits.close(), commits.close()]);
  expect(await written).toBe(1);
  await expect(commits.add(2)).rejects.toThrow('closed');
});
