import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { databases, type TestDatabase } from '../databases.js';

describe.each(databases)('the audit log in $name', ({ make }) => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await make();
    store = await database.open();
    for (const actor of ['anna_b@example.com', 'annaxb@example.com', 'key CI_Key', 'key Ärzte', 'a%b', 'a\\b'])
      for (const action of ['key.create', 'keys.other'])
        await store.audit.add({ accountId: 'a', actor, action, target: '', detail: {} });
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });

  it.each([
    ['anna_b', ['anna_b@example.com']],
    ['ANNA', ['anna_b@example.com', 'annaxb@example.com']],
    ['ci_key', ['key CI_Key']],
    ['Ärzte', ['key Ärzte']],
    ['%', ['a%b']],
    ['\\', ['a\\b']],
  ])('finds actors by the part %j, as it is written', async (actor, actors) => {
    const entries = await store.audit.list('a', { actor, action: 'key' }, null, 100);
    expect(entries.map((entry) => `${entry.actor} ${entry.action}`).sort()).toEqual(
      actors.map((name) => `${name} key.create`),
    );
  });
});
