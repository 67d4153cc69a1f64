import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EvidenceFilter } from '../../../src/store/evidence-store.js';
import type { Store } from '../../../src/store/store.js';
import { databases, type TestDatabase } from '../databases.js';
import { makeRecord } from '../make-record.js';

const start = Date.UTC(2026, 10, 1, 12);
const LONG = 12;
const SHORT = 3_000;

describe.each(databases)('lists of long texts in $name', ({ name, make }) => {
  let database: TestDatabase;
  let store: Store;
  let accountId: string;
  /** Whose steps were run, and how many bytes each was said to take. */
  let steps: { readonly accountId: string; readonly size: number }[] = [];

  beforeAll(async () => {
    database = await make();
    store = await database.open({
      longWork: async (tenant, size, step) => {
        steps.push({ accountId: tenant, size });
        return step();
      },
    });
    accountId = (await store.accounts.create('Long', 'scale')).id;
    const text = (at: number): string => `${'a long text '.repeat(60_000)} number ${at}`;
    for (let at = 0; at < LONG; at++)
      await store.evidence.append(makeRecord({ accountId, text: text(at), time: start + at }));
    const short = Array.from({ length: SHORT }, (_, at) =>
      makeRecord({
        accountId,
        text: `short ${at}`,
        time: start + 1_000 + at,
        rule: at % 2 === 0 ? 'family.rule' : 'none',
      }),
    );
    await Promise.all(short.map((record) => store.evidence.append(record)));
  }, 60_000);
  afterAll(async () => {
    await store.close();
    await database.remove();
  });

  const all = async (filter: EvidenceFilter): Promise<number> => {
    steps = [];
    let count = 0;
    for await (const _ of store.evidence.iterate(accountId, filter)) count += 1;
    return count;
  };

  it('reads long records one by one, and short ones a hundred at a time', async () => {
    expect(await all({ to: start + 1_000 })).toBe(LONG);
    const sizes = steps.map(({ size }) => size).filter((size) => size > 500_000);
    expect(sizes).toHaveLength(LONG);
    expect(Math.max(...sizes)).toBeLessThan(800_000);
    expect(await all({ from: start + 1_000 })).toBe(SHORT);
    expect(steps.length).toBeGreaterThanOrEqual(SHORT / 100);
    expect(new Set(steps.map((it) => it.accountId))).toEqual(new Set([accountId]));
  });

  it('reads no further than it is asked', async () => {
    steps = [];
    for await (const _ of store.evidence.iterate(accountId, { to: start + 1_000 })) break;
    expect(steps.filter(({ size }) => size > 500_000)).toHaveLength(1);
  });

  it('compares long texts one by one, and finds what it found', async () => {
    const found = await all({ text: 'NUMBER 7', to: start + 1_000 });
    expect(found).toBe(1);
    if (name === 'embedded') {
      expect(await all({ text: 'zzz', to: start + 1_000 })).toBe(0);
      // The index may say so at once, or there is none of it yet.
      expect(await all({ text: 'zz', to: start + 1_000 })).toBe(0);
      expect(steps.length).toBeGreaterThan(LONG);
    }
  });

  it('walks what no index has in steps, and gives all of it', async () => {
    const wanted = { verdict: 'allow', rule: 'none' } as const;
    expect(await all(wanted)).toBe(LONG + SHORT / 2);
    // A page of 500 that is looked for in windows.
    if (name === 'embedded') expect(steps.length).toBeGreaterThan((LONG + SHORT / 2) / 100 + 8);
    expect(await all({ verdict: 'block', rule: 'none' })).toBe(0);
  });
});
