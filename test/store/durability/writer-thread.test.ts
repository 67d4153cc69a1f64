import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openWriterThread } from '../../../src/store/embedded/writer-thread.js';
import { openStore } from '../../../src/store/open-store.js';
import { loadPlans } from '../../../src/store/plans.js';
import { toRow } from '../../../src/store/sql/evidence/evidence-row.js';
import type { Store } from '../../../src/store/store.js';
import { makeRecord } from '../make-record.js';

const built = fileURLToPath(new URL('../../../dist/store-writer.js', import.meta.url));
const mortal = fileURLToPath(new URL('../load/mortal-writer.mjs', import.meta.url));

it('a message gives back its rows', () => {
  for (const keyId of [null, 'key']) {
    const row = toRow(makeRecord({ accountId: 'a', keyId }), 'pepper');
    expect(structuredClone(row)).toEqual(row);
  }
});

describe('the thread that writes', () => {
  let data: string;
  let store: Store;
  let accountId: string;
  const open = async (writerProgram: string | undefined): Promise<void> => {
    store = await openStore({ data, writerProgram });
    accountId = (await store.accounts.create('Threaded', 'scale')).id;
  };
  const stored = async (): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    for await (const { id } of store.evidence.iterate(accountId, {})) ids.add(id);
    return ids;
  };
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'portcullis-thread-'));
  });
  afterEach(async () => {
    await store?.close();
    rmSync(data, { recursive: true, force: true });
  });

  it('is started again when it ends: what waits is refused, what was acknowledged is there', {
    timeout: 120_000,
  }, async () => {
    await open(mortal);
    const acknowledged: string[] = [];
    const refusals: unknown[] = [];
    let charged = 0;
    const calls = async (): Promise<void> => {
      for (let i = 0; i < 25; i += 1) {
        const record = makeRecord({ accountId });
        try {
          await store.usage.charge(accountId, Date.now());
          charged += 1;
          await store.evidence.append(record);
          acknowledged.push(record.id);
        } catch (error) {
          refusals.push(error);
          await vi.waitFor(async () => expect((await store.ready()).ok).toBe(true), { timeout: 10_000 });
        }
      }
    };
    await Promise.all(Array.from({ length: 8 }, calls));
    expect(refusals.length).toBeGreaterThan(0);
    for (const error of refusals) expect(error).toMatchObject({ name: 'StoreError', code: 'STORE_UNAVAILABLE' });
    expect(acknowledged.length).toBeGreaterThan(25);
    const kept = await stored();
    for (const id of acknowledged) expect(kept.has(id), id).toBe(true);
    expect((await store.usage.months(accountId, 1))[0]?.used).toBeGreaterThanOrEqual(charged);
    const hours = await store.evidence.counts(accountId, 0, Number.MAX_SAFE_INTEGER, 'hour');
    expect(hours.reduce((sum, it) => sum + it.calls, 0)).toBe(kept.size);
    expect(await store.check()).toMatchObject({ ok: true, problems: [] });
    // The message that closes may be the thread's 30th.
    await store.close().catch((error: unknown) => expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' }));
    store = await openStore({ data });
  });

  it('writes all that waits before it closes, and nothing after', async () => {
    await open(built);
    const records = Array.from({ length: 300 }, () => makeRecord({ accountId }));
    const written = Promise.all(records.map((record) => store.evidence.append(record)));
    await store.close();
    await written;
    await expect(store.evidence.append(makeRecord({ accountId }))).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    store = await openStore({ data });
    expect((await stored()).size).toBe(300);
  });

  it('stands back for a transaction of the other connection', async () => {
    await open(built);
    const { id: keyId } = await store.keys.create(accountId, 'rotated');
    const appended = Promise.all(Array.from({ length: 200 }, () => store.evidence.append(makeRecord({ accountId }))));
    const rotated = await store.keys.rotate(accountId, keyId, 60);
    await appended;
    expect(rotated.secret).toMatch(/^svc_live_/);
    expect((await stored()).size).toBe(200);
    await expect(store.keys.rotate(accountId, keyId, 60)).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
  });

  it('says why it cannot start', async () => {
    await open(undefined);
    const file = join(data, 'no.db');
    writeFileSync(file, 'no database, and longer than a header of one would be'.repeat(20));
    const parts = { file, plans: loadPlans(), onFull: () => undefined };
    await expect(openWriterThread({ ...parts, program: built })).rejects.toMatchObject({ code: 'SQLITE_NOTADB' });
    await expect(openWriterThread({ ...parts, program: join(data, 'none.js') })).rejects.toThrow(/none\.js/);
  });
});
