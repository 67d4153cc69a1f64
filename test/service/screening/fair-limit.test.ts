import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { keepInput } from '../../../src/evidence/keep-input.js';
import { replayService } from '../../../src/service/replay-service.js';
import { createFairLimit } from '../../../src/service/screening/fair-limit.js';
import { makeRecord } from '../../store/make-record.js';

describe('turns', () => {
  it('are given to the tenants one after the other, however much one of them asks for', async () => {
    const limit = createFairLimit({ atOnce: 1, perTenant: 100 });
    const done: string[] = [];
    const ask = (tenant: string, at: number): Promise<unknown> =>
      limit(tenant, async () => {
        await setTimeout(1);
        done.push(`${tenant}${at}`);
      });
    await Promise.all([...Array.from({ length: 20 }, (_, at) => ask('a', at)), ask('b', 0), ask('b', 1)]);
    expect(done).toHaveLength(22);
    expect(done.indexOf('b1')).toBeLessThan(6);
  });

  it('are refused beyond the bound of a tenant, and given again once some ended, failed or not', async () => {
    const limit = createFairLimit({ atOnce: 2, perTenant: 3 });
    const ends: (() => void)[] = [];
    const hold = (tenant: string) => limit(tenant, () => new Promise<void>((end) => ends.push(end)));
    const held = [hold('a'), hold('a'), hold('a')];
    await expect(hold('a')).rejects.toMatchObject({ name: 'OverloadedError' });
    await vi.waitFor(() => expect(ends, 'two at once').toHaveLength(2));
    for (const end of ends.splice(0)) end();
    await Promise.all(held.slice(0, 2));
    await expect(
      limit('a', async () => {
        throw new Error('own');
      }),
    ).rejects.toThrow('own');
    expect(await limit('b', async () => 'done')).toBe('done');
    for (const end of ends) end();
    await held[2];
    expect(await limit('a', async () => 'done')).toBe('done');
  });
});

it('replays wait among the calls of their account, a bounded number at once', async () => {
  const info = { mode: 'rules' } as never;
  const tenants: (string | undefined)[] = [];
  const ends: (() => void)[] = [];
  const scorers = {
    info,
    score: (_input: unknown, { tenant }: { readonly tenant?: string | undefined }) => {
      tenants.push(tenant);
      return new Promise<never>((_, reject) => ends.push(() => reject(new Error('over'))));
    },
  };
  const account = { overlay: null } as never;
  const store = { accounts: { get: async () => account }, versions: {} } as never;
  const replays = replayService(store, scorers, { changeOf: async () => undefined } as never);
  const replay = () =>
    replays.replay({ ...makeRecord({ accountId: 'acc_a' }), input: keepInput('a text', false, 'whole') }, 'current');
  const held = Promise.allSettled(Array.from({ length: 4 }, replay));
  await vi.waitFor(() => expect(ends).toHaveLength(4));
  await expect(replay()).rejects.toMatchObject({ name: 'OverloadedError' });
  expect(tenants).toEqual(['acc_a', 'acc_a', 'acc_a', 'acc_a']);
  for (const end of ends) end();
  await held;
  await replays.close();
});
