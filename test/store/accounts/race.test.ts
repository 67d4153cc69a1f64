import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { databases } from '../databases.js';
import { builtLoad } from '../load/built-load.js';

// The long form: npm run proof -- store
const rounds = Number(process.env.PORTCULLIS_PROOF_RACES ?? 2);
const CALLS = [667, 667, 666];

const plansFile = join(mkdtempSync(join(tmpdir(), 'portcullis-race-')), 'plans.yaml');
writeFileSync(plansFile, 'plans: { raced: { monthly_calls: 500 } }\noverage_pack_calls: 1\n');

const allowedIn = (place: string, accountId: string, count: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [builtLoad(), 'race', place, accountId, plansFile, String(count)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      out += piece;
    });
    child.on('close', (code) => {
      const allowed = /^allowed (\d+)$/m.exec(out)?.[1];
      if (code === 0 && allowed !== undefined) resolve(Number(allowed));
      else reject(new Error(`a racer ended with ${code}`));
    });
  });

describe.each(databases)('2,000 calls against a limit of 500 from three processes, $name', ({ make }) => {
  it(`lets exactly 500 in, ${rounds} times`, { timeout: rounds * 30_000 }, async () => {
    const database = await make();
    const store = await database.open({ plansFile });
    const place = database.place.data ?? database.place.databaseUrl ?? '';
    for (let round = 0; round < rounds; round += 1) {
      const { id } = await store.accounts.create(`Raced ${round}`, 'raced');
      const allowed = await Promise.all(CALLS.map((count) => allowedIn(place, id, count)));
      expect(allowed.reduce((sum, it) => sum + it, 0)).toBe(500);
      expect((await store.usage.months(id, 1))[0]?.used).toBe(500);
    }
    await store.close();
    await database.remove();
  });
});
