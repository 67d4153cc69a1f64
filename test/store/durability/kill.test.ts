import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databases, type TestDatabase } from '../databases.js';
import { builtLoad } from '../load/built-load.js';

// The long form: npm run proof -- store
const rounds = Number(process.env.PORTCULLIS_PROOF_KILLS ?? 6);
const WRITERS = 16;

interface Round {
  readonly readyMs: number;
  readonly acknowledged: readonly string[];
}

/** Starts a writer, lets it work for a while, and kills it without a word. */
const killedAfter = (place: string, accountId: string, ms: number): Promise<Round> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [builtLoad(), 'write', place, accountId, '', String(WRITERS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pieces: string[] = [];
    let timer: NodeJS.Timeout | undefined;
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      pieces.push(piece);
      // From the first acknowledgement on: a busy machine may take its time until then.
      if (piece.includes('ev_')) timer ??= setTimeout(() => child.kill('SIGKILL'), ms);
    });
    child.on('close', (_, signal) => {
      clearTimeout(timer);
      if (signal !== 'SIGKILL') reject(new Error('the writer ended by itself'));
      const [first, ...rest] = pieces.join('').split('\n');
      // A line that the kill cut in two was no acknowledgement.
      resolve({ readyMs: Number(first?.split(' ')[1]), acknowledged: rest.slice(0, -1) });
    });
  });

describe('kill -9 under load', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    const embedded = databases.find((it) => it.name === 'embedded');
    if (!embedded) throw new Error('no embedded database');
    database = await embedded.make();
  });
  afterAll(() => database.remove());

  it(`loses nothing that was acknowledged, in ${rounds} rounds`, { timeout: rounds * 10_000 }, async () => {
    const first = await database.open();
    const { id } = await first.accounts.create('Killed', 'scale');
    await first.close();
    let acknowledged = 0;
    let slowest = 0;
    for (let round = 0; round < rounds; round += 1) {
      const killed = await killedAfter(database.place.data ?? '', id, 40 + ((round * 37) % 400));
      slowest = Math.max(slowest, killed.readyMs);
      acknowledged += killed.acknowledged.length;
      expect(killed.acknowledged.length, 'the writer got to work').toBeGreaterThan(0);
      const started = performance.now();
      const store = await database.open();
      expect(await store.ready()).toMatchObject({ ok: true });
      slowest = Math.max(slowest, performance.now() - started);
      for (const evidence of killed.acknowledged)
        expect(await store.evidence.get(id, evidence), evidence).toMatchObject({ id: evidence });
      const [month] = await store.usage.months(id, 1);
      const [stored, hours] = await Promise.all([
        (async () => {
          let all = 0;
          for await (const _ of store.evidence.iterate(id, {})) all += 1;
          return all;
        })(),
        store.evidence.counts(id, 0, Number.MAX_SAFE_INTEGER, 'hour'),
      ]);
      // Every record has its count; a call that was counted and killed before its record is the one difference allowed.
      expect(stored).toBeGreaterThanOrEqual(acknowledged);
      expect(hours.reduce((sum, it) => sum + it.calls, 0)).toBe(stored);
      expect(month?.used).toBeGreaterThanOrEqual(stored);
      expect(month?.used).toBeLessThanOrEqual(stored + WRITERS * (round + 1));
      // The whole check reads all there is: at the ends of a long run alone.
      if (round < 3 || round % 20 === 19 || round === rounds - 1)
        expect(await store.check()).toMatchObject({ ok: true, problems: [] });
      await store.close();
    }
    expect(slowest).toBeLessThan(3_000);
    console.log(
      `kill -9: ${rounds} rounds, ${acknowledged} acknowledged, none lost, ready in ${Math.round(slowest)} ms at most`,
    );
  });
});
