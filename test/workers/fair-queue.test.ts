import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/workers/fair-queue.js';

interface Item {
  readonly tenant: string;
  readonly cost: number;
}

function queueOf(...items: readonly [tenant: string, cost: number, times?: number][]): FairQueue<Item> {
  const queue = new FairQueue<Item>({
    tenantOf: ({ tenant }) => tenant,
    costOf: ({ cost }) => cost,
    isLong: ({ cost }) => cost > 100,
  });
  for (const [tenant, cost, times = 1] of items) for (let time = 0; time < times; time++) queue.push({ tenant, cost });
  return queue;
}

function order(queue: FairQueue<Item>, fits: (item: Item) => boolean = () => true): string {
  let tenants = '';
  for (let item = queue.shift(fits); item !== undefined; item = queue.shift(fits)) tenants += item.tenant;
  return tenants;
}

describe('a fair queue', () => {
  it.each<[string, readonly [string, number, number?][], string]>([
    ['one tenant: in order', [['a', 1, 3]], 'aaa'],
    [
      'equal items take turns',
      [
        ['a', 10, 3],
        ['b', 10, 3],
      ],
      'ababab',
    ],
    [
      'behind many long texts a short one waits for one of them',
      [
        ['a', 1_000, 5],
        ['b', 10],
      ],
      'abaaaa',
    ],
    [
      'short texts until they have cost as much',
      [
        ['a', 100, 2],
        ['b', 20, 6],
      ],
      'abbbbbab',
    ],
  ])('%s', (_name, items, expected) => {
    const queue = queueOf(...items);
    expect(order(queue)).toBe(expected);
    expect(queue.size).toBe(0);
  });

  it('gives no credit for a time of absence', () => {
    const queue = queueOf(['a', 10, 4]);
    for (let i = 0; i < 3; i++) queue.shift(() => true);
    queue.push({ tenant: 'b', cost: 10 });
    queue.push({ tenant: 'b', cost: 10 });
    queue.push({ tenant: 'b', cost: 10 });
    expect(order(queue)).toBe('babb');
  });

  it('lets short items pass long ones that do not fit, its own too', () => {
    const queue = queueOf(['a', 1_000, 2], ['a', 10, 2], ['b', 1_000]);
    expect(order(queue, ({ cost }) => cost < 100)).toBe('aa');
    expect(queue.size).toBe(3);
  });

  it('gives an item up, and all of them', () => {
    const queue = queueOf(['a', 1], ['c', 3]);
    const gone = { tenant: 'b', cost: 2 };
    queue.push(gone);
    queue.remove(gone);
    queue.remove({ tenant: 'nobody', cost: 1 });
    expect(queue.size).toBe(2);
    expect(queue.drain().map(({ tenant }) => tenant)).toEqual(['a', 'c']);
    expect(queue.size).toBe(0);
  });
});
