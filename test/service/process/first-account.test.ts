import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ensureFirstAccount, markShown } from '../../../src/service/first-account.js';
import { databases } from '../../store/databases.js';
import { killServices, startService } from '../service-process.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-first-'));
afterAll(() => {
  killServices();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(databases)('the first account on $name', ({ make }) => {
  it('is made once, and named until its key was shown or used', async () => {
    const database = await make();
    const store = await database.open();
    let time = 1_000_000;
    const now = () => time;
    // Ten replicas that start at once.
    const made = await Promise.all(Array.from({ length: 10 }, () => ensureFirstAccount(store, now)));
    expect(made.filter((it) => it !== undefined && 'key' in it)).toHaveLength(1);
    const [account] = await store.accounts.list();
    expect(account?.name).toBe('default');
    // It was made, and the run ended before it showed it.
    const again = await ensureFirstAccount(store, now);
    expect(again).toEqual({ account: account?.id, hasOwner: true });
    time += 60_000;
    expect(await store.accounts.list()).toHaveLength(1);
    await markShown(store);
    expect(await ensureFirstAccount(store, now)).toBeUndefined();
    await store.close();
    await database.remove();
  });

  it('is made by a later start where the first ended before it made one', async () => {
    const database = await make();
    const store = await database.open();
    let time = 1_000_000;
    const ended = { ...store, accounts: { ...store.accounts, create: () => Promise.reject(new Error('killed')) } };
    await expect(ensureFirstAccount(ended, () => time)).rejects.toThrow('killed');
    expect(await ensureFirstAccount(store, () => time), 'it may still be at work').toBeUndefined();
    time += 30_000;
    const withoutOwner = { ...store, users: { ...store.users, create: () => Promise.reject(new Error('killed')) } };
    await expect(ensureFirstAccount(withoutOwner, () => time)).rejects.toThrow('killed');
    expect(await ensureFirstAccount(store, () => time)).toMatchObject({ hasOwner: false });
    await store.close();
    await database.remove();
  });
});

describe('two servers', () => {
  const flags = ['--data', folder, '--mode', 'rules', '--workers', '1'];

  it('on one data folder: the second says why not, and a killed one leaves it free', async () => {
    const first = await startService(flags);
    await expect(startService(flags)).rejects.toThrow('another "portcullis serve" runs on');
    first.child.kill('SIGKILL');
    await first.ended;
    const next = await startService(flags);
    expect(next.output()).not.toContain('first start ended');
    next.child.kill('SIGTERM');
    expect(await next.ended).toBe(0);
  }, 60_000);
});
