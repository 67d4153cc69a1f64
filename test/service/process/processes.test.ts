import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { httpLoad } from '../../../bench/service/http-load.js';
import { freshDatabase } from '../../postgres/fresh-database.js';
import { analyze, killServices, type ServiceProcess, shownKey, startService } from '../service-process.js';

const PROCESSES = 2;
const LIMIT = 300;

const places: (() => Promise<void> | void)[] = [];
afterEach(killServices);
afterAll(async () => {
  for (const remove of places) await remove();
});

/** Flags of an empty database with a trial of `LIMIT` calls. */
async function database(kind: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-processes-'));
  places.push(() => rmSync(folder, { recursive: true, force: true }));
  const plans = join(folder, 'plans.yaml');
  writeFileSync(plans, `plans:\n  trial: { monthly_calls: ${LIMIT}, trial_days: 14 }\noverage_pack_calls: 1\n`);
  if (kind === 'embedded') return ['--data', folder];
  const { url, drop } = await freshDatabase();
  places.push(drop);
  return ['--database-url', url, '--plans', plans];
}

const flags = ['--mode', 'rules', '--processes', String(PROCESSES), '--workers', '1', '--log-level', 'error'];

/** The processes that take calls: children of the one that was started. */
const pidsOf = ({ child }: ServiceProcess): readonly number[] =>
  readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ').map(Number);

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}

describe.each(['embedded', 'postgres'])('a service of two processes on %s', (kind) => {
  it('shares one port and one quota, and restarts a process that ends', { timeout: 120_000 }, async () => {
    const service = await startService([...flags, ...(await database(kind))]);
    const key = shownKey(service);
    const before = pidsOf(service);
    expect(before).toHaveLength(PROCESSES);

    const load = (requests: number) =>
      httpLoad({
        url: service.url,
        path: '/analyze',
        headers: { Authorization: `Bearer ${key}` },
        body: (n) => JSON.stringify({ input: `text ${n} of no harm` }),
        connections: 20,
        requests,
      });
    const first = await load(100);
    expect([...first.statuses]).toEqual([[200, 100]]);

    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics, 'the calls of both processes together').toMatch(
      /^portcullis_http_requests_total\{route="\/analyze",status="200"\} 100$/m,
    );
    expect(metrics).toMatch(/^portcullis_scorers_ready 2$/m);
    expect(metrics).toMatch(/^portcullis_scorers_wanted 2$/m);

    process.kill(before[1] ?? 0, 'SIGKILL');
    await until(() => pidsOf(service).length === PROCESSES && !pidsOf(service).includes(before[1] ?? 0));
    await until(async () => /^portcullis_scorers_ready 2$/m.test(await (await fetch(`${service.url}/metrics`)).text()));

    const second = await load(LIMIT);
    expect(second.statuses.get(200)).toBe(LIMIT - 100);
    expect(second.statuses.get(429)).toBe(100);
    expect((await analyze(service.url, key, 'one more')).status).toBe(429);

    const pids = pidsOf(service);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

it('refuses a folder that another server has, and a port that is taken', { timeout: 60_000 }, async () => {
  const data = await database('embedded');
  const service = await startService(['--mode', 'rules', '--workers', '1', ...data]);
  await expect(startService([...flags, ...data])).rejects.toThrow('another "portcullis serve" runs');
  const { port } = new URL(service.url);
  await expect(startService([...flags, ...(await database('embedded')), '--port', port])).rejects.toThrow(
    "can't listen",
  );
});
