import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { keepInput, keepText } from '../../../src/evidence/keep-input.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { databases, type TestDatabase } from '../databases.js';
import { makeRecord } from '../make-record.js';

const DAY_MS = 86_400_000;

describe.each(databases)('what is kept of a text in $name', ({ make }) => {
  let database: TestDatabase;
  let store: Store;
  let accountId: string;
  beforeAll(async () => {
    database = await make();
    store = await database.open();
    accountId = (await store.accounts.create('Private', 'pro')).id;
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });

  const kept = async (keep: 'whole' | 'masked' | 'hash', text: string) => {
    const record = { ...makeRecord({ accountId }), input: keepInput(text, false, keep) };
    await store.evidence.append(record);
    return (await store.evidence.get(accountId, record.id))?.input;
  };

  it('is no digest that a short text could be guessed from', async () => {
    const text = '+49 170 1234567';
    const plain = createHash('sha256').update(text).digest('hex');
    const [masked, hashed, other] = [await kept('masked', text), await kept('hash', text), await kept('hash', 'x')];
    for (const input of [masked, hashed]) {
      expect(input).toMatchObject({ keyed: true, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
      expect(JSON.stringify(input)).not.toContain(plain);
      expect(input?.sha256, 'tells equal texts').toBe(masked?.sha256);
      expect(input?.sha256).not.toBe(other?.sha256);
    }
    expect(await kept('whole', text), 'proves a text that is there').toMatchObject({ sha256: plain, text });
  });

  it('is the same for a task', async () => {
    const tasks = [];
    for (const keep of ['masked', 'hash', 'whole'] as const) {
      const record = { ...makeRecord({ accountId }), task: keepText('Call +49 170 1234567', keep) };
      await store.evidence.append(record);
      tasks.push((await store.evidence.get(accountId, record.id))?.task);
    }
    const [masked, hashed, whole] = tasks;
    expect([masked?.text, hashed?.text, whole?.text]).toEqual(['Call •••••••••••••••', null, 'Call +49 170 1234567']);
    expect(masked).toMatchObject({ keyed: true, sha256: hashed?.sha256 });
    expect(hashed?.sha256).not.toBe(whole?.sha256);
  });

  it('stays when a record is labelled', async () => {
    const record = { ...makeRecord({ accountId }), input: keepInput('secret', false, 'hash') };
    await store.evidence.append(record);
    const before = await store.evidence.get(accountId, record.id);
    await store.evidence.label(accountId, record.id, 'false_alarm');
    expect(await store.evidence.get(accountId, record.id)).toEqual({ ...before, label: 'false_alarm' });
  });
});

describe('the files of the embedded database', () => {
  let data: string;
  let store: Store;
  const umask = process.umask(0o022);
  beforeAll(async () => {
    data = join(mkdtempSync(join(tmpdir(), 'portcullis-private-')), 'data');
    store = await openStore({ data, serves: true, writerProgram: undefined });
  });
  afterAll(async () => {
    process.umask(umask);
    await store.close();
    rmSync(join(data, '..'), { recursive: true, force: true });
  });

  it("are their owner's alone", () => {
    expect(statSync(data).mode & 0o777).toBe(0o700);
    const files = readdirSync(data);
    expect(files).toEqual(
      expect.arrayContaining(['portcullis.db', 'portcullis.db-wal', 'portcullis.db-shm', 'key-pepper']),
    );
    for (const file of files) expect([file, statSync(join(data, file)).mode & 0o777]).toEqual([file, 0o600]);
  });

  it('have nothing left of evidence that was purged: not the text, not its digest, not its terms', async () => {
    const { id } = await store.accounts.create('Purged', 'pro');
    const now = Date.now();
    const old = makeRecord({ accountId: id, text: 'xylophonist 死語復活', time: now - 100 * DAY_MS });
    const young = makeRecord({ accountId: id, text: 'a young text', time: now });
    const filler = Array.from({ length: 50 }, (_, i) =>
      makeRecord({ accountId: id, text: `one of many texts, ${i}`, time: now - (i % 2) * 100 * DAY_MS }),
    );
    for (const record of [old, ...filler, young]) await store.evidence.append(record);
    const db = new Sqlite(join(data, 'portcullis.db'), { readonly: true });
    const behind = db.prepare(
      'SELECT (SELECT count(*) FROM evidence_unsearched) + (SELECT count(*) FROM evidence WHERE seq > (SELECT seq FROM evidence_indexed))',
    );
    await vi.waitFor(() => expect(behind.pluck().get()).toBe(0), { timeout: 20_000, interval: 100 });
    db.close();
    const holds = (part: string): readonly string[] =>
      readdirSync(data).filter((file) => readFileSync(join(data, file)).includes(part));
    // As SQLite lays a term down: whole, or less what it shares with the one before.
    const parts = ['xylophonist', old.id, '死語', 'xyl'];
    for (const part of parts) expect(holds(part), part).not.toEqual([]);
    expect(await store.evidence.purge(now)).toBe(26);
    for (const part of parts) expect(holds(part), part).toEqual([]);
    expect(holds('a young text')).not.toEqual([]);
    expect((await store.evidence.list(id, { text: 'young' }, null, 5)).records).toHaveLength(1);
    expect(await store.check()).toMatchObject({ ok: true, problems: [] });
  });
});
