import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-serve-'));
const running = new Set<ChildProcess>();

afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

/** Starts the built service on the folder; resolves when it says that it is ready. */
const start = (data: string): Promise<Started> =>
  new Promise((resolve, reject) => {
    const main = join('dist', 'cli', 'main.js');
    const child = spawn(process.execPath, [
      main,
      'serve',
      '--data',
      data,
      '--port',
      '0',
      '--mode',
      'rules',
      '--scorers',
      '1',
    ]);
    running.add(child);
    let output = '';
    const ended = new Promise<number | null>((end) => child.on('exit', (code) => end(code)));
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const url = /ready (http:\S+)/.exec(output)?.[1];
      if (url !== undefined) resolve({ child, url, output: () => output, ended });
    });
    child.on('exit', () => reject(new Error(`it ended: ${output}`)));
  });

const ask = (url: string, key: string, input: string): Promise<Response> =>
  fetch(`${url}/analyze`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input }),
  });

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
          const answer = await ask(service.url, key, `text ${round} ${caller} ${call}`).catch(() => undefined);
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

  it('answers what is under way when told to end, and no text or key is in its output', async () => {
    const service = await start(join(folder, 'ended'));
    const key = /svc_live_\S+/.exec(service.output())?.[0] ?? '';
    const calls = Array.from({ length: 20 }, (_, call) => ask(service.url, key, `telltale words ${call}`));
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
});
