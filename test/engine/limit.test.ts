import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKeyedLimit, orderedMap } from '../../src/engine/limit.js';

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
