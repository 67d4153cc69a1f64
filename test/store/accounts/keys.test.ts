import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../../src/store/account-store.js';
import type { Store } from '../../../src/store/store.js';
import { allDatabases, type TestDatabase } from '../databases.js';

describe.each(allDatabases)('keys in $name', ({ make }) => {
  let now = Date.UTC(2026, 10, 21, 12);
  let database: TestDatabase;
  let store: Store;
  let account: Account;
  let other: Account;
  beforeAll(async () => {
    database = await make();
    store = await database.open({ now: () => now });
    account = await store.accounts.create('Keys', 'pro');
    other = await store.accounts.create('Other', 'pro');
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });

  it('gives a secret once, and finds the key and its account by it', async () => {
    const { secret, ...key } = await store.keys.create(account.id, 'first');
    expect(secret).toMatch(/^svc_live_[A-Za-z0-9_-]{49}$/);
    expect(await store.keys.find(secret)).toEqual({ key, account });
    expect(await store.keys.list(account.id)).toEqual([key]);
    expect(JSON.stringify(await store.keys.list(account.id))).not.toContain(secret.slice(9, 40));
  });

  it('finds nothing by what is no key: another one, a typing error, an empty text', async () => {
    const { secret } = await store.keys.create(account.id, 'typo');
    const typo = `${secret.slice(0, 20)}${secret[20] === 'A' ? 'B' : 'A'}${secret.slice(21)}`;
    for (const word of [typo, '', 'svc_live_', `${secret} `, secret.toLowerCase(), `svc_live_${'A'.repeat(49)}`])
      expect(await store.keys.find(word)).toBeUndefined();
  });

  it('rotates: both work for the grace, the new one alone after it', async () => {
    const old = await store.keys.create(account.id, 'rotated');
    const fresh = await store.keys.rotate(account.id, old.id, 60);
    expect(fresh).toMatchObject({ name: 'rotated', expiresAt: null });
    expect((await store.keys.find(old.secret))?.key).toMatchObject({ replacedBy: fresh.id, expiresAt: now + 60_000 });
    now += 59_999;
    expect(await store.keys.find(old.secret)).toBeDefined();
    now += 1;
    expect(await store.keys.find(old.secret)).toBeUndefined();
    expect(await store.keys.find(fresh.secret)).toBeDefined();
    await expect(store.keys.rotate(account.id, old.id, 60)).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
  });

  it('undoes a rotation within its grace, once, and never past a further rotation', async () => {
    const old = await store.keys.create(account.id, 'undone');
    const fresh = await store.keys.rotate(account.id, old.id, 60);
    expect(await store.keys.undoRotation(account.id, old.id)).toMatchObject({ expiresAt: null, replacedBy: null });
    expect(await store.keys.find(old.secret)).toBeDefined();
    expect(await store.keys.find(fresh.secret)).toBeUndefined();
    const none = { code: 'STORE_NOT_FOUND' };
    await expect(store.keys.undoRotation(account.id, old.id)).rejects.toMatchObject(none);
    await expect(store.keys.undoRotation(account.id, fresh.id)).rejects.toMatchObject(none);

    const second = await store.keys.rotate(account.id, old.id, 60);
    const third = await store.keys.rotate(account.id, second.id, 60);
    await expect(store.keys.undoRotation(account.id, old.id)).rejects.toMatchObject(none);
    for (const { secret } of [old, second, third]) expect(await store.keys.find(secret)).toBeDefined();
    const ended = await store.keys.create(account.id, 'ended');
    await store.keys.rotate(account.id, ended.id, 0);
    await expect(store.keys.undoRotation(account.id, ended.id)).rejects.toMatchObject(none);
  });

  it('rotates once where two ask at once', async () => {
    const { id } = await store.keys.create(account.id, 'raced');
    const before = (await store.keys.list(account.id)).length;
    const both = await Promise.allSettled([store.keys.rotate(account.id, id, 1), store.keys.rotate(account.id, id, 1)]);
    expect(both.filter((it) => it.status === 'fulfilled')).toHaveLength(1);
    expect(await store.keys.list(account.id)).toHaveLength(before + 1);
  });

  it('revokes at once, and says when', async () => {
    const { id, secret } = await store.keys.create(account.id, 'revoked');
    expect((await store.keys.revoke(account.id, id)).revokedAt).toBe(now);
    expect(await store.keys.find(secret)).toBeUndefined();
    now += 1_000;
    expect((await store.keys.revoke(account.id, id)).revokedAt, 'the first time counts').toBe(now - 1_000);
  });

  it("reaches no other account's key", async () => {
    const { id, secret } = await store.keys.create(account.id, 'mine');
    expect(await store.keys.get(other.id, id)).toBeUndefined();
    expect(await store.keys.list(other.id)).toEqual([]);
    await expect(store.keys.revoke(other.id, id)).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
    await expect(store.keys.rotate(other.id, id, 0)).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
    expect(await store.keys.find(secret)).toBeDefined();
  });

  it('remembers the last use, and needs the same pepper when opened again', async () => {
    const { id, secret } = await store.keys.create(account.id, 'used');
    store.keys.used(id, 1_000);
    store.keys.used(id, 3_000);
    store.keys.used(id, 2_000);
    await store.close();
    await expect(database.open({ pepper: 'another pepper of more than 32 characters' })).rejects.toMatchObject({
      code: 'STORE_SETTINGS',
    });
    await expect(database.open({ pepper: 'short' })).rejects.toMatchObject({ code: 'STORE_SETTINGS' });
    store = await database.open({ now: () => now });
    expect((await store.keys.find(secret))?.key.lastUsedAt).toBe(3_000);
  });
});
