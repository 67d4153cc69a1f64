import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { allDatabases, type TestDatabase } from '../databases.js';

describe.each(allDatabases)('accounts in $name', ({ make }) => {
  const now = Date.UTC(2026, 10, 21, 12);
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await make();
    store = await database.open({ now: () => now });
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });

  it('starts a trial of 14 days, and other plans without an end', async () => {
    const trial = await store.accounts.create('Trial', 'trial');
    expect(trial).toEqual({
      id: expect.stringMatching(/^acct_[0-9a-f]{16}$/),
      name: 'Trial',
      plan: 'trial',
      trialEndsAt: now + 14 * 86_400_000,
      trialUsed: 0,
      overageLeft: 0,
      overlay: null,
      flowPolicy: null,
      settings: { verdictForm: 'extended', retentionDays: 90, keep: 'whole' },
      createdAt: now,
    });
    expect((await store.accounts.create('Paying', 'starter')).trialEndsAt).toBeNull();
  });

  it('finds by id and by name, and refuses a name that two have', async () => {
    const first = await store.accounts.create('Twin', 'pro');
    expect(await store.accounts.find('Twin')).toEqual(first);
    expect(await store.accounts.find(first.id)).toEqual(first);
    await store.accounts.create('Twin', 'pro');
    await expect(store.accounts.find('Twin')).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
    expect(await store.accounts.find(first.id)).toEqual(first);
  });

  it('changes plan, trial end, bought calls and settings, each alone', async () => {
    const { id } = await store.accounts.create('Changing', 'trial');
    expect((await store.accounts.setPlan(id, 'scale')).plan).toBe('scale');
    expect((await store.accounts.setTrialEnd(id, 5)).trialEndsAt).toBe(5);
    expect((await store.accounts.setPlan(id, 'trial')).trialEndsAt, 'a trial is had once').toBe(5);
    expect((await store.accounts.addOverage(id, 10)).overageLeft).toBe(10);
    expect((await store.accounts.addOverage(id, 5)).overageLeft).toBe(15);
    await Promise.all([
      store.accounts.setSettings(id, { keep: 'masked' }),
      store.accounts.setSettings(id, { retentionDays: 7 }),
      store.accounts.setSettings(id, { verdictForm: 'minimal' }),
    ]);
    const { settings } = await store.accounts.find(id);
    expect(settings).toEqual({ verdictForm: 'minimal', retentionDays: 7, keep: 'masked' });
  });

  it('keeps a policy of calls beside the settings, of one account, and removes it', async () => {
    const [{ id }, other] = await Promise.all([
      store.accounts.create('With a policy', 'trial'),
      store.accounts.create('Without', 'trial'),
    ]);
    const flowPolicy = {
      on: { flow: { suspicious: 'deny', foreign: 'deny' } },
      tools: { 'send \0 \ud800 é': { effect: 'send', to: ['to'], accepts: [] } },
    } as const;
    await Promise.all([
      store.accounts.setSettings(id, { flowPolicy }),
      store.accounts.setSettings(id, { keep: 'hash' }),
    ]);
    const { secret } = await store.keys.create(id, 'k');
    expect((await store.keys.find(secret))?.account).toMatchObject({ flowPolicy, settings: { keep: 'hash' } });
    expect((await store.accounts.find(id)).settings).not.toHaveProperty('flowPolicy');
    expect((await store.accounts.get(other.id))?.flowPolicy).toBeNull();
    expect((await store.accounts.setSettings(id, { flowPolicy: null })).flowPolicy).toBeNull();
  });

  it('makes many at once, each with a number of its own', async () => {
    const made = await Promise.all(Array.from({ length: 12 }, (_, i) => store.accounts.create(`Many ${i}`, 'pro')));
    const ids = new Set((await store.accounts.list()).map((it) => it.id));
    expect(made.every((it) => ids.has(it.id))).toBe(true);
  });

  it.each([
    ['create with a plan that is not there', (it: Store) => it.accounts.create('x', 'gold')],
    [
      'a plan that is not there',
      async (it: Store) => it.accounts.setPlan((await it.accounts.create('x1', 'pro')).id, 'gold'),
    ],
    ['find', (it: Store) => it.accounts.find('nobody')],
    ['setPlan', (it: Store) => it.accounts.setPlan('acct_0', 'pro')],
    ['setTrialEnd', (it: Store) => it.accounts.setTrialEnd('acct_0', 1)],
    ['setSettings', (it: Store) => it.accounts.setSettings('acct_0', { keep: 'hash' })],
    ['addOverage', (it: Store) => it.accounts.addOverage('acct_0', 1)],
    ['quota', (it: Store) => it.usage.quota('acct_0', now)],
    ['charge', (it: Store) => it.usage.charge('acct_0', now)],
    ['keys', (it: Store) => it.keys.create('acct_0', 'k')],
  ])('says that something is not there: %s', async (_, call) => {
    await expect(call(store)).rejects.toMatchObject({ name: 'StoreError', code: 'STORE_NOT_FOUND' });
  });

  it('is the same after it was closed and opened again', async () => {
    const before = await store.accounts.list();
    const again = await database.open();
    expect(await again.accounts.list()).toEqual(before);
    await again.close();
  });
});
