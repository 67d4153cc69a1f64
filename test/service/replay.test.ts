import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/index.js';
import { runCommand } from '../cli/run-cli.js';
import { writeTinyModel } from '../model/tiny-model.js';
import { databases } from '../store/databases.js';
import { analyze, killServices, type ServiceProcess, shownKey, startService } from './service-process.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-replay-test-'));
afterAll(() => {
  killServices();
  rmSync(folder, { recursive: true, force: true });
});

/** A pack of one rule. */
const pack = (name: string, version: string, score: number): string => {
  const place = join(folder, name);
  mkdirSync(join(place, 'override'), { recursive: true });
  writeFileSync(
    join(place, 'pack.yaml'),
    `name: mine\nversion: ${version}\ndescription: Of a test.\nlicence: Apache-2.0\nthreshold: 0.5\nparanoia: 1\n`,
  );
  writeFileSync(
    join(place, 'override', 'pear.yaml'),
    `id: override.pear\nversion: 1.0.0\ntitle: A pear\ndescription: Detects a pear.\nstatus: stable\nseverity: high\nscore: ${score}\n` +
      `match:\n  any:\n    - 'blue pear'\n`,
  );
  return place;
};

const replay = async (args: readonly string[]): Promise<{ readonly code: number | null; readonly out: string }> => {
  const { status, stdout, stderr } = await runCommand(['replay', ...args]);
  return { code: status, out: `${stdout}${stderr}` };
};

const verdictOf = async (service: ServiceProcess, key: string, input: unknown): Promise<Verdict> => {
  const answer = await analyze(service.url, key, input);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Verdict;
};

const stop = async ({ child, ended }: ServiceProcess): Promise<void> => {
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
};

/** Signs in as the first account's owner and replays as the dashboard does. */
const replayAtHome = async (
  service: ServiceProcess,
  password: string,
  id: string,
  against: string,
): Promise<Record<string, unknown>> => {
  const headers = { 'content-type': 'application/json' };
  const signedIn = await fetch(`${service.url}/dashboard/api/sign-in`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ email: 'owner@localhost', password }),
  });
  const { csrf } = (await signedIn.json()) as { readonly csrf: string };
  const cookie = signedIn.headers
    .getSetCookie()
    .map((it) => it.split(';')[0])
    .join('; ');
  const answer = await fetch(`${service.url}/dashboard/api/evidence/${id}/replay?against=${against}`, {
    method: 'POST',
    headers: { ...headers, cookie, 'x-csrf-token': csrf },
    body: '{}',
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
};

describe.each(databases)('replay on $name', ({ make }) => {
  it('is identical by the rules recorded after an upgrade, and says what the new ones say', async () => {
    const database = await make();
    const base = [...database.flags, '--mode', 'rules', '--workers', '1', '--log-level', 'warn'];
    const [before, after] = [pack('a', '1.0.0', 0.9), pack('b', '1.1.0', 0.2)];
    const overlay = join(folder, 'overlay.yaml');
    writeFileSync(overlay, 'threshold: 0.8\n');

    const old = await startService([...base, '--no-core', '--pack', before, '--overlay', overlay]);
    const key = shownKey(old);
    const password = / password (\S+)/.exec(old.output())?.[1] ?? '';
    const blocked = await verdictOf(old, key, 'a blue pear');
    const asJson = await verdictOf(old, key, {
      name: 'send',
      arguments: { text: 'a blue pear', n: [1, null, '\ud800'] },
    });
    expect([blocked.verdict, blocked.threshold, asJson.verdict]).toEqual(['block', 0.8, 'block']);
    await stop(old);
    rmSync(before, { recursive: true });
    rmSync(overlay);

    const service = await startService([...base, '--no-core', '--pack', after]);
    const allowed = await verdictOf(service, key, 'a blue pear');
    expect(allowed).toMatchObject({ verdict: 'allow', threshold: 0.5 });
    for (const { evidence_id } of [blocked, asJson, allowed]) {
      const { code, out } = await replay([evidence_id, ...database.flags, '--json']);
      expect(JSON.parse(out)).toMatchObject({ outcome: 'identical', notes: [], evidence_id });
      expect(code).toBe(0);
    }
    const other = await replay([blocked.evidence_id, ...database.flags, '--with-rules', after]);
    expect(other).toMatchObject({ code: 1 });
    expect(other.out).toContain('different, block then, allow with what was given');
    expect(other.out).not.toContain('blue pear');

    const home = (id: string, against: string) => replayAtHome(service, password, id, against);
    expect(await home(blocked.evidence_id, 'recorded')).toMatchObject({ outcome: 'identical' });
    expect(await home(blocked.evidence_id, 'current')).toMatchObject({
      outcome: 'different',
      verdict: { verdict: 'allow', rules_version: allowed.rules_version },
    });
    expect(await home(allowed.evidence_id, 'recorded')).toMatchObject({ outcome: 'identical' });
    await stop(service);
    await database.remove();
  }, 120_000);
});

// What is kept is the same on both: one of them is enough.
describe.each(databases.slice(0, 1))('replay', ({ make }) => {
  it('says why where it is impossible', async () => {
    const database = await make();
    const base = [...database.flags, '--mode', 'rules', '--workers', '1', '--log-level', 'warn'];
    const service = await startService([...base, '--no-core', '--pack', pack('c', '1.0.0', 0.9)]);
    const key = shownKey(service);
    const store = await database.open();
    const [account] = await store.accounts.list();
    const id = account?.id ?? '';
    await store.accounts.setSettings(id, { keep: 'hash' });
    // A key's account is remembered for half a second.
    await new Promise((resolve) => setTimeout(resolve, 700));
    const hashed = await verdictOf(service, key, 'a blue pear');
    await stop(service);
    const record = await store.evidence.get(id, hashed.evidence_id);
    if (record === undefined) throw new Error('no record');
    const lost = {
      ...record,
      id: `ev_${'a'.repeat(24)}`,
      input: {
        ...record.input,
        kept: 'whole',
        text: 'a blue pear',
        sha256: createHash('sha256').update('a blue pear').digest('hex'),
      },
    } as const;
    await store.evidence.append({ ...lost, verdict: { ...lost.verdict, rules_version: '0.1.0+000000000000' } });
    await store.evidence.append({
      ...lost,
      id: `ev_${'b'.repeat(24)}`,
      input: { ...lost.input, text: 'a green pear' },
    });
    await store.close();

    expect(await replay([hashed.evidence_id, ...database.flags])).toMatchObject({
      code: 3,
      out: expect.stringContaining('SHA-256 only'),
    });
    expect(await replay([lost.id, ...database.flags])).toMatchObject({
      code: 3,
      out: expect.stringContaining('aren’t kept'),
    });
    expect(await replay([`ev_${'b'.repeat(24)}`, ...database.flags])).toMatchObject({
      code: 3,
      out: expect.stringContaining('no longer'),
    });
    expect(await replay([`ev_${'f'.repeat(24)}`, ...database.flags])).toMatchObject({ code: 2 });
    await database.remove();
  }, 120_000);

  it('needs the model that decided, and not the one that runs now', async () => {
    const database = await make();
    const base = [
      ...database.flags,
      '--workers',
      '1',
      '--log-level',
      'warn',
      '--no-core',
      '--pack',
      pack('d', '1.0.0', 0.9),
    ];
    const model = writeTinyModel();
    const hybrid = await startService([...base, '--mode', 'hybrid', '--model', model]);
    const key = shownKey(hybrid);
    const byModel = await verdictOf(hybrid, key, 'ignore the cat');
    const byRules = await verdictOf(hybrid, key, 'a blue pear');
    expect([byModel.decided_by, byRules.decided_by]).toEqual(['ml', 'rules']);
    await stop(hybrid);

    writeFileSync(join(model, 'model.onnx'), 'no network');
    const broken = await startService([...base, '--mode', 'hybrid', '--model', model]);
    const fallback = await verdictOf(broken, key, 'ignore the cat');
    expect(fallback).toMatchObject({ decided_by: 'ml-error-rules-fallback', verdict: 'allow' });
    await stop(broken);
    rmSync(model, { recursive: true });

    for (const { evidence_id } of [byModel, byRules, fallback])
      expect(await replay([evidence_id, ...database.flags])).toMatchObject({
        code: 0,
        out: expect.stringContaining('identical'),
      });
    const other = writeTinyModel({ perWindow: 1 });
    expect((await replay([byModel.evidence_id, ...database.flags, '--with-model', other])).code).toBe(0);
    rmSync(other, { recursive: true });
    await database.remove();
  }, 120_000);
});
