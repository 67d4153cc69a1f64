import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordIds } from '../../../bench/soak/soak-place.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { type PostgresServer, startPostgres } from '../../postgres/server.js';
import { makeRecord } from '../make-record.js';

// The long form (30 s): npm run proof -- store
const outageMs = Number(process.env.PORTCULLIS_PROOF_OUTAGE_MS ?? 2_000);
const WRITERS = 16;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('PostgreSQL stopped under load', () => {
  let server: PostgresServer;
  let store: Store;
  beforeAll(async () => {
    server = await startPostgres();
    store = await openStore({ databaseUrl: server.url });
  });
  afterAll(async () => {
    await store.close();
    await server.remove();
  });

  it('refuses meanwhile, recovers by itself, and loses nothing acknowledged', {
    timeout: outageMs + 60_000,
  }, async () => {
    const { id } = await store.accounts.create('Outage', 'scale');
    const acknowledged: string[] = [];
    const errors: unknown[] = [];
    let charged = 0;
    let running = true;
    const write = async (): Promise<void> => {
      while (running) {
        try {
          await store.usage.charge(id, Date.now());
          charged += 1;
          const record = makeRecord({ accountId: id });
          await store.evidence.append(record);
          acknowledged.push(record.id);
        } catch (error) {
          errors.push(error);
          await pause(20);
        }
      }
    };
    const load = Promise.all(Array.from({ length: WRITERS }, write));
    await pause(1_000);
    const before = acknowledged.length;
    await server.crash();
    await pause(outageMs);
    expect(await store.ready()).toMatchObject({ ok: false });
    const during = acknowledged.length;
    await server.start();
    await pause(2_000);
    running = false;
    await load;

    expect(before).toBeGreaterThan(0);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.every((it) => it instanceof Error && it.name === 'StoreError')).toBe(true);
    expect(acknowledged.length, 'works again').toBeGreaterThan(during);
    expect(await store.ready()).toMatchObject({ ok: true });
    const kept = await recordIds(store, id);
    expect(acknowledged.filter((evidence) => !kept.has(evidence))).toEqual([]);
    const used = (await store.usage.months(id, 1))[0]?.used ?? 0;
    expect(used).toBeGreaterThanOrEqual(charged);
    console.log(
      `PostgreSQL away for ${outageMs} ms: ${acknowledged.length} acknowledged, none lost, ${errors.length} refused`,
    );
  });
});
