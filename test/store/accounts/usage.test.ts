import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { allDatabases, type TestDatabase } from '../databases.js';
import { makeRecord } from '../make-record.js';

const plansFile = join(mkdtempSync(join(tmpdir(), 'portcullis-plans-')), 'plans.yaml');
writeFileSync(
  plansFile,
  'plans:\n  trial: { monthly_calls: 5, trial_days: 14 }\n  small: { monthly_calls: 3 }\n  big: { monthly_calls: 500 }\noverage_pack_calls: 2\n',
);

describe.each(allDatabases)('usage in $name', ({ make }) => {
  const november = Date.UTC(2026, 10, 30, 23, 59, 59);
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await make();
    store = await database.open({ plansFile, now: () => november });
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });
  const chargeTimes = async (id: string, times: number, at = november) => {
    const answers = [];
    for (let i = 0; i < times; i += 1) answers.push(await store.usage.charge(id, at));
    return answers;
  };

  it('counts down the plan, then what was bought, then refuses', async () => {
    const { id } = await store.accounts.create('Small', 'small');
    await store.accounts.addOverage(id, 2);
    const answers = await chargeTimes(id, 6);
    expect(answers).toEqual([
      ...[4, 3, 2, 1, 0].map((remaining) => ({ allowed: true, limit: 3, remaining, resetSeconds: 1 })),
      { allowed: false, code: 'MONTHLY_LIMIT_REACHED', limit: 3, remaining: 0, resetSeconds: 1 },
    ]);
    expect(await store.usage.months(id, 3)).toEqual([{ month: '2026-11', used: 3, overageUsed: 2 }]);
    expect((await store.accounts.find(id)).overageLeft).toBe(0);
  });

  it('starts again when the month turns in UTC, and keeps bought calls', async () => {
    const { id } = await store.accounts.create('Months', 'small');
    await chargeTimes(id, 4);
    await store.accounts.addOverage(id, 1);
    const [first] = await chargeTimes(id, 1, november + 1_000);
    expect(first).toEqual({ allowed: true, limit: 3, remaining: 3, resetSeconds: 31 * 86_400 });
    expect(await store.usage.months(id, 3)).toEqual([
      { month: '2026-12', used: 1, overageUsed: 0 },
      { month: '2026-11', used: 3, overageUsed: 0 },
    ]);
    expect(await store.usage.months(id, 1)).toHaveLength(1);
  });

  it('ends a trial at its end, bought calls or not; another plan goes on', async () => {
    const { id } = await store.accounts.create('Trial', 'trial');
    await store.accounts.addOverage(id, 9);
    await store.accounts.setTrialEnd(id, november + 1);
    expect(await chargeTimes(id, 1)).toMatchObject([{ allowed: true }]);
    expect(await chargeTimes(id, 1, november + 1)).toEqual([
      { allowed: false, code: 'TRIAL_ENDED', limit: 5, remaining: 0, resetSeconds: 1 },
    ]);
    await store.accounts.setPlan(id, 'small');
    expect(await chargeTimes(id, 1, november + 1)).toMatchObject([{ allowed: true, limit: 3 }]);
  });

  it('has one allowance for a trial, whatever month it is', async () => {
    const { id } = await store.accounts.create('One trial', 'trial');
    await store.accounts.setTrialEnd(id, november + 30 * 86_400_000);
    expect(await chargeTimes(id, 3)).toMatchObject([{ remaining: 4 }, { remaining: 3 }, { remaining: 2 }]);
    const december = november + 1_000;
    expect(await store.usage.quota(id, december)).toMatchObject({ limit: 5, remaining: 2 });
    expect(await chargeTimes(id, 3, december)).toMatchObject([
      { allowed: true, remaining: 1 },
      { allowed: true, remaining: 0 },
      { allowed: false, code: 'MONTHLY_LIMIT_REACHED', remaining: 0 },
    ]);
    expect(await store.accounts.find(id)).toMatchObject({ trialUsed: 5 });
    await store.accounts.addOverage(id, 1);
    expect(await chargeTimes(id, 2, december)).toMatchObject([{ allowed: true }, { allowed: false }]);
    expect(await store.usage.months(id, 3)).toEqual([
      { month: '2026-12', used: 2, overageUsed: 1 },
      { month: '2026-11', used: 3, overageUsed: 0 },
    ]);
    await store.accounts.setPlan(id, 'small');
    expect(await chargeTimes(id, 1, december), 'another plan counts by the month').toMatchObject([{ remaining: 0 }]);
  });

  it('tells the quota without counting', async () => {
    const { id } = await store.accounts.create('Asking', 'small');
    await chargeTimes(id, 1);
    const quota = { limit: 3, remaining: 2, resetSeconds: 1 };
    expect([await store.usage.quota(id, november), await store.usage.quota(id, november)]).toEqual([quota, quota]);
  });

  it('lets exactly the limit in, of many at once, over two connections', async () => {
    const { id } = await store.accounts.create('Crowd', 'big');
    await store.accounts.addOverage(id, 7);
    const second = await database.open({ plansFile });
    const answers = await Promise.all(
      Array.from({ length: 2000 }, (_, i) => (i % 2 ? store : second).usage.charge(id, november + (i % 3))),
    );
    await second.close();
    expect(answers.filter((it) => it.allowed)).toHaveLength(507);
    expect(new Set(answers.filter((it) => it.allowed).map((it) => it.remaining)).size, 'each sees its own').toBe(507);
  });

  it('counts a call and stores its record in one commit, or neither: exactly the limit of many at once', async () => {
    const { id } = await store.accounts.create('Records', 'big');
    await store.accounts.addOverage(id, 7);
    const { id: other } = await store.accounts.create('Other', 'small');
    const second = await database.open({ plansFile });
    const charges = await Promise.all(
      Array.from({ length: 1000 }, async (_, i) => {
        const record = makeRecord({ accountId: i % 100 === 0 ? other : id, time: november });
        // What was counted beforehand is stored whatever is left.
        if (i % 10 === 5) return (i % 2 ? store : second).evidence.append(record).then(() => undefined);
        return (i % 2 ? store : second).evidence.appendCounted(record, november + (i % 3));
      }),
    );
    await second.close();
    const of = (isOther: boolean) => charges.filter((it, i) => it !== undefined && (i % 100 === 0) === isOther);
    expect(of(false).filter((it) => it?.allowed)).toHaveLength(507);
    expect(of(true).filter((it) => it?.allowed)).toHaveLength(3);
    expect(charges.filter((it) => it?.allowed === false)[0]).toMatchObject({ code: 'MONTHLY_LIMIT_REACHED' });
    const kept = async (account: string) => (await store.evidence.list(account, {}, null, 500)).records.length;
    expect(await kept(other)).toBe(3);
    let stored = 0;
    for await (const _ of store.evidence.iterate(id, {})) stored += 1;
    expect(stored).toBe(507 + 100);
    const hours = await store.evidence.counts(id, 0, Number.MAX_SAFE_INTEGER, 'hour');
    expect(hours.reduce((sum, { calls }) => sum + calls, 0)).toBe(607);
    const months = await store.usage.months(id, 2);
    expect(months.reduce((sum, { used, overageUsed }) => sum + used + overageUsed, 0)).toBe(507);
  });

  it('counts each call of a batch in its own month', async () => {
    const { id } = await store.accounts.create('Turn', 'small');
    const charges = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        store.evidence.appendCounted(makeRecord({ accountId: id, time: november }), november + (i % 2) * 1_000),
      ),
    );
    expect(charges.filter(({ allowed }) => allowed)).toHaveLength(6);
    expect(await store.usage.months(id, 3)).toEqual([
      { month: '2026-12', used: 3, overageUsed: 0 },
      { month: '2026-11', used: 3, overageUsed: 0 },
    ]);
  });

  it('stores nothing of a call whose trial has ended', async () => {
    const { id } = await store.accounts.create('Ended', 'trial');
    await store.accounts.setTrialEnd(id, november);
    expect(await store.evidence.appendCounted(makeRecord({ accountId: id, time: november }), november)).toMatchObject({
      allowed: false,
      code: 'TRIAL_ENDED',
    });
    expect((await store.evidence.list(id, {}, null, 10)).records).toEqual([]);
    expect(await store.usage.months(id, 1)).toEqual([]);
  });
});
