import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openStore } from '../../../src/store/open-store.js';
import { analyze, killServices, type ServiceProcess, shownKey, startService } from '../service-process.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-serve-'));
const RULES = ['--mode', 'rules', '--workers', '1'];

afterAll(() => {
  killServices();
  rmSync(folder, { recursive: true, force: true });
});

const start = (data: string): Promise<ServiceProcess> => startService(['--data', data, ...RULES]);

describe('portcullis serve', () => {
  it('makes an account once, and keeps each acknowledged verdict and its count through kill -9', async () => {
    const data = join(folder, 'killed');
    const acknowledged: string[] = [];
    let key = '';
    for (let round = 0; round < 3; round++) {
      const service = await start(data);
      if (round === 0) key = /svc_live_\S+/.exec(service.output())?.[0] ?? '';
      else expect(service.output()).not.toContain('shown once');
      let stop = false;
      const callers = Array.from({ length: 8 }, async (_, caller) => {
        for (let call = 0; !stop; call++) {
          const answer = await analyze(service.url, key, `text ${round} ${caller} ${call}`).catch(() => undefined);
          const body = (await answer?.json().catch(() => undefined)) as { evidence_id?: string } | undefined;
          if (body?.evidence_id !== undefined) acknowledged.push(body.evidence_id);
        }
      });
      await new Promise((resolve) => setTimeout(resolve, 700));
      service.child.kill('SIGKILL');
      await service.ended;
      stop = true;
      await Promise.all(callers);
    }
    const store = await openStore({ data });
    const [account] = await store.accounts.list();
    const found = await Promise.all(acknowledged.map((id) => store.evidence.get(account?.id ?? '', id)));
    const [month] = await store.usage.months(account?.id ?? '', 1);
    const health = await store.check();
    await store.close();
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(found.filter((record) => record === undefined)).toEqual([]);
    expect(month?.used).toBeGreaterThanOrEqual(acknowledged.length);
    expect(health.problems).toEqual([]);
  }, 90_000);

  it.runIf(process.platform === 'linux')(
    'reads a long body in a thread of a lower priority, which starts with it',
    async () => {
      const service = await start(join(folder, 'long'));
      const tasks = `/proc/${service.child.pid}/task`;
      const lowered = (): number =>
        readdirSync(tasks).filter((id) => {
          const [, fields = ''] = readFileSync(join(tasks, id, 'stat'), 'utf8').split(') ');
          return Number(fields.split(' ')[16]) > 0;
        }).length;
      const answer = await analyze(service.url, shownKey(service), { text: 'short' });
      expect([answer.status, lowered()]).toEqual([200, 0]);
      const long = await analyze(service.url, shownKey(service), { text: 'A calm afternoon. '.repeat(5_000) });
      expect([long.status, lowered()]).toEqual([200, 1]);
      service.child.kill('SIGTERM');
      await service.ended;
    },
    60_000,
  );

  it('answers what is under way when told to end, and no text or key is in its output', async () => {
    const service = await start(join(folder, 'ended'));
    const key = /svc_live_\S+/.exec(service.output())?.[0] ?? '';
    const calls = Array.from({ length: 20 }, (_, call) => analyze(service.url, key, `telltale words ${call}`));
    await Promise.race(calls);
    service.child.kill('SIGTERM');
    const answers = await Promise.allSettled(calls);
    expect(await service.ended).toBe(0);
    const statuses = answers.flatMap((it) => (it.status === 'fulfilled' ? [it.value.status] : []));
    expect(statuses.length).toBeGreaterThan(0);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(service.output()).not.toContain('telltale');
    expect(service.output().split(key)).toHaveLength(2);
  }, 60_000);

  it.each([
    [
      'a damaged database',
      (data: string) => writeFileSync(join(data, 'portcullis.db'), 'x'.repeat(8192)),
      [],
      /database/,
    ],
    ['a lost pepper', (data: string) => rmSync(join(data, 'key-pepper')), [], /pepper/],
    ['an overlay that is not there', () => {}, ['--overlay', join(folder, 'missing.yaml')], /missing\.yaml/],
  ])(
    'ends over %s, and says what to do',
    async (name, harm, flags, advice) => {
      const data = join(folder, name);
      await (await openStore({ data })).close();
      harm(data);
      await expect(startService(['--data', data, ...RULES, ...flags])).rejects.toThrow(advice);
    },
    60_000,
  );

  it('says that its port is taken, and shows the first account at the next start all the same', async () => {
    const data = join(folder, 'taken');
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => resolve((other.address() as AddressInfo).port));
    });
    await expect(startService(['--data', data, ...RULES, '--port', String(port)])).rejects.toThrow(
      `can't listen on 127.0.0.1:${port}`,
    );
    await expect(startService(['--data', data, ...RULES, '--host', 'no host'])).rejects.toThrow(
      "can't listen on no host",
    );
    await new Promise((resolve) => other.close(resolve));
    expect((await start(data)).output()).toContain('API key (shown once)');
  }, 60_000);
});
