import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { allDatabases, type TestDatabase } from '../databases.js';

describe.each(allDatabases)('attempts and devices in $name', ({ make }) => {
  let now = Date.UTC(2026, 10, 21, 12);
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
  const delayOf = (failures: number): number => (failures < 3 ? 0 : 1_000 * failures);
  const begin = (name: string) => store.attempts.begin(name, delayOf);

  it('wait longer after each failure, and count nothing while they wait', async () => {
    expect([await begin('a'), await begin('a'), await begin('a')]).toEqual([0, 0, 0]);
    expect([await begin('a'), await begin('a')]).toEqual([3_000, 3_000]);
    expect(await begin('b'), 'of another name').toBe(0);
    now += 3_000;
    expect(await begin('a')).toBe(0);
    expect(await begin('a')).toBe(4_000);
  });

  it('are counted one after the other when they come at once', async () => {
    const waits = await Promise.all(Array.from({ length: 12 }, () => begin('crowd')));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(3);
  });

  it('are taken back, and forgotten after a success, by an operator, or in a day', async () => {
    for (let i = 0; i < 3; i += 1) await begin('c');
    await store.attempts.takeBack('c');
    expect(await begin('c')).toBe(0);
    expect([await store.attempts.forget('c'), await store.attempts.forget('c')]).toEqual([true, false]);
    for (let i = 0; i < 3; i += 1) await begin('c');
    now += 86_400_001;
    expect([await begin('c'), await begin('c')]).toEqual([0, 0]);
  });

  it('know a device until the password changes', async () => {
    const user = await store.users.create('device@example.com', 'h');
    const token = await store.devices.create(user.id);
    expect([await store.devices.find(token), await store.devices.find('x')]).toEqual([user.id, undefined]);
    await store.users.setPassword(user.id, 'other');
    expect(await store.devices.find(token)).toBeUndefined();
  });
});
