import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { makeRecord } from '../make-record.js';

const MINUTE = 60_000;
const now = Date.UTC(2026, 10, 21, 12);

describe('the search index', () => {
  let data: string;
  let store: Store;
  let accountId: string;
  beforeEach(async () => {
    data = mkdtempSync(join(tmpdir(), 'portcullis-mark-'));
    store = await openStore({ data });
    accountId = (await store.accounts.create('Marked', 'scale')).id;
  });
  afterEach(async () => {
    await store.close();
    rmSync(data, { recursive: true, force: true });
  });

  const write = (text: string, time: number): Promise<void> =>
    store.evidence.append(makeRecord({ accountId, text, time }));
  const found = async (text: string): Promise<number> =>
    (await store.evidence.list(accountId, { text }, null, 50)).records.length;
  const ask = <T>(query: string): T => {
    const db = new Sqlite(join(data, 'portcullis.db'));
    try {
      return db.prepare(query).pluck().get() as T;
    } finally {
      db.close();
    }
  };
  const isBehind = (): boolean =>
    ask<number>('SELECT count(*) FROM evidence WHERE seq > (SELECT seq FROM evidence_indexed)') +
      ask<number>('SELECT count(*) FROM evidence_unsearched') >
    0;
  const indexed = (): Promise<void> => vi.waitFor(() => expect(isBehind()).toBe(false), { timeout: 10_000 });
  /** By the first three letters, as the index knows no longer ones. */
  const inIndex = (word: string): number =>
    ask<number>(`SELECT count(*) FROM evidence_search WHERE evidence_search MATCH '"${word.slice(0, 3)}"'`);

  it('goes past what is indexed, and finds it before and after', async () => {
    await write('one walrus', now);
    expect(await found('walrus')).toBe(1);
    await indexed();
    expect(inIndex('walrus')).toBe(1);
    expect(await found('walrus')).toBe(1);
    expect(await found('narwhal')).toBe(0);
  });

  it('finds and indexes a record that comes late with an earlier time', async () => {
    await write('one walrus', now);
    await indexed();
    await write('an earlier walrus', now - MINUTE);
    expect(await found('walrus')).toBe(2);
    await indexed();
    expect(inIndex('walrus')).toBe(2);
    expect(await found('walrus')).toBe(2);
  });

  it('purges what is indexed, what is late and what is past the mark', async () => {
    await write('an old walrus', now - 200 * 1440 * MINUTE);
    await write('another walrus', now - 199 * 1440 * MINUTE);
    await indexed();
    await write('a late walrus', now - 201 * 1440 * MINUTE);
    await write('a new walrus', now - 198 * 1440 * MINUTE);
    await write('a walrus that stays', now);
    expect(await store.evidence.purge(now)).toBe(4);
    expect(await found('walrus')).toBe(1);
    await indexed();
    expect(inIndex('walrus')).toBe(1);
    expect(await store.check()).toMatchObject({ ok: true, problems: [] });
  });

  it('indexes a database from before it anew', async () => {
    await write('one walrus', now);
    await indexed();
    await store.close();
    const db = new Sqlite(join(data, 'portcullis.db'));
    db.exec(`DROP TABLE evidence_indexed; DROP TABLE evidence_bigrams; DROP TABLE evidence_search;
      CREATE VIRTUAL TABLE evidence_search USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'trigram');
      DELETE FROM kysely_migration WHERE name >= '2026-11-22';
      INSERT INTO evidence (seq, id, account_id, verdict, rule, decided_by, router_level, text, record)
      SELECT seq + 1, 'ev_${'0'.repeat(24)}', account_id, verdict, rule, decided_by, router_level, 'a queued walrus', record
      FROM evidence; INSERT INTO evidence_unsearched SELECT max(seq) FROM evidence`);
    db.close();
    store = await openStore({ data });
    expect(await found('walrus')).toBe(2);
    await indexed();
    expect(inIndex('walrus')).toBe(2);
    await write('one more walrus', now + MINUTE);
    expect(await found('walrus')).toBe(3);
  });
});
