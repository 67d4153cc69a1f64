import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/workers/fair-queue.js';

interface Item {
  readonly tenant: string;
  readonly cost: number;
}

function queueOf(...items: readonly (readonly [tenant: string, cost: number, times?: number])[]): FairQueue<Item> {
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

type Step =
  | { readonly kind: 'push'; readonly tenant: string; readonly cost: number }
  | { readonly kind: 'shift' }
  | { readonly kind: 'shift short' }
  | { readonly kind: 'remove'; readonly which: number };

const cost = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 101, max: 1_000 }));
const push = fc.record({ kind: fc.constant('push' as const), tenant: fc.constantFrom('a', 'b', 'c', 'd'), cost });
const shift = fc.record({ kind: fc.constant('shift' as const) });
const shiftShort = fc.record({ kind: fc.constant('shift short' as const) });
const remove = fc.record({ kind: fc.constant('remove' as const), which: fc.nat() });

describe('a fair queue under any steps', () => {
  it('loses nothing, gives nothing twice, and keeps the order of each tenant', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof<fc.Arbitrary<Step>[]>(push, push, shift, shiftShort, remove)), (steps) => {
        const queue = queueOf();
        let waiting: readonly Item[] = [];
        const take = (item: Item): void => {
          expect(waiting).toContain(item);
          waiting = waiting.filter((other) => other !== item);
        };
        for (const step of steps) {
          if (step.kind === 'push') {
            const item = { tenant: step.tenant, cost: step.cost };
            queue.push(item);
            waiting = [...waiting, item];
          } else if (step.kind === 'remove') {
            const item = waiting[step.which % waiting.length] ?? { tenant: 'a', cost: 1 };
            queue.remove(item);
            waiting = waiting.filter((other) => other !== item);
          } else {
            const fits = ({ cost: own }: Item): boolean => step.kind === 'shift' || own <= 100;
            const item = queue.shift(fits);
            // Short ones first, each kind in its order.
            const first = (tenant: string): Item | undefined => {
              const own = waiting.filter((other) => other.tenant === tenant);
              return [own.find(({ cost: c }) => c <= 100), own.find(({ cost: c }) => c > 100)].find(
                (other) => other !== undefined && fits(other),
              );
            };
            if (item === undefined) expect(waiting.filter(fits)).toEqual([]);
            else {
              expect(item).toBe(first(item.tenant));
              take(item);
            }
          }
          expect(queue.size).toBe(waiting.length);
        }
        expect(new Set(queue.drain())).toEqual(new Set(waiting));
        expect([queue.size, queue.shift()]).toEqual([0, undefined]);
      }),
      { numRuns: 150 },
    );
  });

  // The bound of the paper: the largest item of each of the two.
  it('serves two tenants that both wait equally, to within one item of each', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof<fc.Arbitrary<Step>[]>(push, push, shift, shift, remove), { maxLength: 120 }),
        (steps) => {
          const queue = queueOf();
          const tenants = ['a', 'b', 'c', 'd'];
          const pairs = tenants.flatMap((one, i) => tenants.slice(i + 1).map((other) => [one, other] as const));
          const largest = new Map(tenants.map((tenant) => [tenant, 0]));
          let waiting: readonly Item[] = [];
          /** How far the first was ahead of the second since both wait: now, and at most in either direction. */
          const ahead = new Map<string, { now: number; least: number; most: number }>();
          const serve = (item: Item): void => {
            for (const [one, other] of pairs) {
              const lead = ahead.get(one + other);
              if (lead === undefined) continue;
              if (item.tenant === one) lead.now += item.cost;
              if (item.tenant === other) lead.now -= item.cost;
              lead.least = Math.min(lead.least, lead.now);
              lead.most = Math.max(lead.most, lead.now);
              expect(lead.most - lead.least).toBeLessThanOrEqual((largest.get(one) ?? 0) + (largest.get(other) ?? 0));
            }
          };
          for (const step of steps) {
            if (step.kind === 'push') {
              const item = { tenant: step.tenant, cost: step.cost };
              queue.push(item);
              waiting = [...waiting, item];
              largest.set(step.tenant, Math.max(step.cost, largest.get(step.tenant) ?? 0));
            } else {
              const item = step.kind === 'remove' ? waiting[step.which % waiting.length] : queue.shift();
              if (item === undefined) continue;
              if (step.kind === 'remove') queue.remove(item);
              else serve(item);
              waiting = waiting.filter((other) => other !== item);
            }
            const isWaiting = (tenant: string): boolean => waiting.some((item) => item.tenant === tenant);
            for (const [one, other] of pairs) {
              if (!isWaiting(one) || !isWaiting(other)) ahead.delete(one + other);
              else if (!ahead.has(one + other)) ahead.set(one + other, { now: 0, least: 0, most: 0 });
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('gives no credit for an absence, however long', () => {
    const costs = fc.array(cost, { minLength: 5, maxLength: 30 });
    fc.assert(
      fc.property(costs, costs, fc.nat(20), (present, back, absence) => {
        const queue = queueOf(...present.map((own) => ['a', own] as const), ['b', 1]);
        while (queue.shift()?.tenant !== 'b');
        for (let left = Math.min(absence, queue.size - 1); left > 0; left -= 1) queue.shift();
        for (const own of back) queue.push({ tenant: 'b', cost: own });
        const largest = Math.max(...present) + Math.max(...back);
        let ahead = 0;
        for (let [a, b] = [queue.size - back.length, back.length]; a > 0 && b > 0; ) {
          const item = queue.shift();
          if (item?.tenant === 'a') a -= 1;
          else b -= 1;
          ahead += (item?.tenant === 'a' ? 1 : -1) * (item?.cost ?? 0);
          expect(Math.abs(ahead)).toBeLessThanOrEqual(largest);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('serves tenants that begin together equally, to within one largest item', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(cost, { minLength: 1, maxLength: 30 }), { minLength: 2, maxLength: 5 }),
        (costs) => {
          const queue = queueOf(...costs.flatMap((own, tenant) => own.map((one) => [`${tenant}`, one] as const)));
          const left = costs.map((own) => own.length);
          const served = costs.map(() => 0);
          const largest = Math.max(...costs.flat());
          while (left.every((items) => items > 0)) {
            const item = queue.shift();
            expect(item).toBeDefined();
            const tenant = Number(item?.tenant);
            left[tenant] = (left[tenant] ?? 0) - 1;
            served[tenant] = (served[tenant] ?? 0) + (item?.cost ?? 0);
            expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(largest);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
