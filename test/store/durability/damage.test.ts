import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../../../src/store/open-store.js';
import { databases } from '../databases.js';
import { makeRecord } from '../make-record.js';

const DAY_MS = 86_400_000;

describe('a data folder', () => {
  let data: string;
  let file: string;
  beforeEach(async () => {
    data = mkdtempSync(join(tmpdir(), 'portcullis-damage-'));
    file = join(data, 'portcullis.db');
    const store = await openStore({ data });
    const { id } = await store.accounts.create('Damaged', 'pro');
    for (let i = 0; i < 200; i += 1)
      await store.evidence.append(makeRecord({ accountId: id, text: `text ${i}`.repeat(50) }));
    await store.close();
  });
  afterEach(() => rmSync(data, { recursive: true, force: true }));

  it('that lost its database and has its pepper is refused, and no empty one is made', async () => {
    renameSync(file, join(data, 'elsewhere'));
    await expect(openStore({ data })).rejects.toMatchObject({
      code: 'STORE_SETTINGS',
      message: expect.stringMatching(/portcullis\.db is gone: restore it from a backup; .* move key-pepper away/),
    });
    expect(existsSync(file)).toBe(false);
    renameSync(join(data, 'elsewhere'), file);
    const store = await openStore({ data });
    expect(await store.accounts.list()).toHaveLength(1);
    await store.close();
  });

  it.each([
    ['is no database', () => writeFileSync(file, 'no database at all, but long enough for a header. '.repeat(200))],
    ['was cut short', () => truncateSync(file, Math.floor(statSync(file).size / 2 / 4096) * 4096)],
    [
      'has pages overwritten',
      () => {
        const db = openSync(file, 'r+');
        for (let page = 1; page < statSync(file).size / 4096; page += 3)
          writeSync(db, Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096);
        closeSync(db);
      },
    ],
  ])('whose database %s is refused by name', async (_, damage) => {
    damage();
    await expect(openStore({ data })).rejects.toMatchObject({
      name: 'StoreError',
      code: 'STORE_DAMAGED',
      message: expect.stringMatching(/portcullis\.db is damaged: stop the service and restore a backup/),
    });
  });

  it('whose database is damaged while it is open is not ready', async () => {
    const store = await openStore({ data });
    const [account] = await store.accounts.list();
    const db = new Sqlite(file);
    const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'evidence_key'").pluck().get());
    db.close();
    const pages = openSync(file, 'r+');
    writeSync(pages, Buffer.alloc(4096, 0xa5), 0, 4096, (root - 1) * 4096);
    closeSync(pages);
    await expect(
      store.evidence.append(makeRecord({ accountId: account?.id ?? '', keyId: 'key_x' })),
    ).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
    });
    expect(await store.ready()).toMatchObject({ ok: false, problems: [expect.stringContaining('damaged')] });
    await store.close();
  });
});

describe.each(databases)('a purge in $name', ({ make }) => {
  it('deletes nothing by a clock that has jumped, unless it is told to trust it', async () => {
    const database = await make();
    const store = await database.open();
    const { id } = await store.accounts.create('Clock', 'pro');
    await store.accounts.setSettings(id, { retentionDays: 30 });
    const now = Date.now();
    const record = makeRecord({ accountId: id, time: now - 5 * DAY_MS });
    await store.evidence.append(record);
    const years = now + 5 * 365 * DAY_MS;
    await expect(store.evidence.purge(years), 'against the newest record').rejects.toMatchObject({
      code: 'STORE_CLOCK',
    });
    expect(await store.evidence.purge(now)).toBe(0);
    // A record that the wrong clock made proves nothing.
    await store.evidence.append(makeRecord({ accountId: id, time: years }));
    await expect(store.evidence.purge(years), 'against the last purge').rejects.toMatchObject({
      code: 'STORE_CLOCK',
      message: expect.stringMatching(/the last purge was 1825 days ago; if the clock is right, run ".*--trust-clock"/),
    });
    expect(await store.evidence.get(id, record.id)).toBeDefined();
    expect(await store.evidence.purge(now + 6 * DAY_MS)).toBe(0);
    expect(await store.evidence.purge(now + 60 * DAY_MS, { trustClock: true })).toBe(1);
    await store.close();
    await database.remove();
  });
});
