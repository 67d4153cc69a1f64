import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Activity, VersionChange } from '../../../src/dashboard/ports.js';
import { databases } from '../../store/databases.js';
import { makeRecord } from '../../store/make-record.js';
import { ask, type Caller, signIn, type TestDashboard, testDashboard } from '../test-dashboard.js';

const HOUR = 3_600_000;
const now = Date.UTC(2026, 10, 21, 12, 30);

describe.each(databases)('the overview on $name', ({ make }) => {
  let it: TestDashboard;
  let ada: Caller;
  const overview = async (range: string): Promise<{ activity: Activity; change: VersionChange | null }> =>
    (await ask(it, ada, 'GET', `/overview?range=${range}`)).json();
  const versioned = (rulesVersion: string, wish: Omit<Parameters<typeof makeRecord>[0], 'accountId'>) => {
    const record = makeRecord({ accountId: ada.accountId, ...wish });
    return { ...record, verdict: { ...record.verdict, rules_version: rulesVersion } };
  };

  beforeAll(async () => {
    it = await testDashboard({ now: () => now }, make);
    ada = await signIn(it, 'sign-up', { account: 'A', email: 'a@example.com', password: 'a long password' });
    for (let i = 1; i <= 100; i += 1)
      await it.store.evidence.append(
        versioned('1.0.0+aaa', { time: now - HOUR, latencyMs: i, rule: i % 4 ? 'none' : 'x.a' }),
      );
  });
  afterAll(() => it.close());

  test('has each step of its period, finer for a young account, with percentiles that fit the calls', async () => {
    for (const [range, steps] of [
      ['day', 24],
      ['week', 12],
      ['month', 13],
    ] as const) {
      const { activity } = await overview(range);
      expect(activity.steps.length).toBe(steps);
      // All calls are an hour old: every period shows hours.
      expect((activity.steps[1]?.time ?? 0) - (activity.steps[0]?.time ?? 0)).toBe(HOUR);
      expect(activity.steps.reduce((sum, { calls }) => sum + calls, 0)).toBe(100);
      const [busy, ...rest] = activity.steps.filter(({ calls }) => calls > 0);
      expect(rest).toEqual([]);
      expect(busy).toMatchObject({ blocks: 25, modelErrors: 0 });
      for (const [name, exact] of [
        ['p50', 50],
        ['p95', 95],
        ['p99', 99],
      ] as const)
        expect(Math.abs((busy?.latency?.[name] ?? 0) - exact)).toBeLessThanOrEqual(0.05 * exact);
      expect(activity.steps.filter(({ latency }) => latency === null)).toHaveLength(steps - 1);
      expect(activity.byRule).toEqual([{ rule: 'x.a', blocks: 25 }]);
    }
  });

  test('compares with the period before, and keeps the steps of a period that is full', async () => {
    const bob = await signIn(it, 'sign-up', { account: 'B', email: 'b@example.com', password: 'a long password' });
    for (const days of [1, 6.5, 8, 9])
      await it.store.evidence.append({
        ...versioned('1.0.0+aaa', { time: now - days * 24 * HOUR, rule: days === 8 ? 'x.a' : 'none' }),
        account_id: bob.accountId,
      });
    const { activity, previous, latest } = (await ask(it, bob, 'GET', '/overview?range=week')).json();
    expect(activity.steps.length).toBe(28);
    expect(previous).toEqual({ calls: 2, blocks: 1, modelErrors: 0 });
    expect(latest.map(({ verdict }: { verdict: { rule: string } }) => verdict.rule)).toEqual(['x.a']);
  });

  test('says what the newest versions changed, by rule, with what members marked', async () => {
    expect((await overview('day')).change).toBeNull();
    const fresh = [0, 1, 2, 3].map((i) =>
      versioned('1.1.0+bbb', { time: now - 1_000 + i, rule: ['x.a', 'x.b', 'x.b', 'none'][i] ?? '' }),
    );
    for (const record of fresh) await it.store.evidence.append(record);
    await ask(it, ada, 'PUT', `/evidence/${fresh[1]?.id}/label`, { label: 'false_alarm' });
    await ask(it, ada, 'PUT', `/evidence/${fresh[3]?.id}/label`, { label: 'missed_attack' });
    const { change } = await overview('day');
    expect(change?.before).toMatchObject({ rulesVersion: '1.0.0+aaa', calls: 100, blocks: 25, falseAlarms: 0 });
    expect(change?.after).toMatchObject({
      ...{ rulesVersion: '1.1.0+bbb', calls: 4, blocks: 3, falseAlarms: 1, missedAttacks: 1 },
      ...{ firstAt: now - 1_000, lastAt: now - 997 },
    });
    const none = { falseAlarms: 0, missedAttacks: 0 };
    expect(change?.rules).toEqual([
      { rule: 'x.b', before: { blocks: 0, ...none }, after: { blocks: 2, falseAlarms: 1, missedAttacks: 0 } },
      { rule: 'x.a', before: { blocks: 25, ...none }, after: { blocks: 1, ...none } },
    ]);
  });
});
