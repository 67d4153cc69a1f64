import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { passwordMatches } from '../../../src/dashboard/api/sign-in/password-hash.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { emailAttempts } from '../../../src/store/user-store.js';
import { runCli, runCommand } from '../../cli/run-cli.js';
import { databases, type TestDatabase } from '../databases.js';

const run = async (args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> => {
  const { status, stdout, stderr } = await runCommand(['admin', ...args]);
  return { code: status, out: stdout, err: stderr };
};

describe.each(databases)('portcullis admin on $name, while a service has it open', ({ make }) => {
  let database: TestDatabase;
  let store: Store;
  let id: string;
  beforeAll(async () => {
    database = await make();
    store = await database.open();
    id = (await run(['account', 'create', 'Acme', '--plan', 'trial', ...database.flags])).out.trim();
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });
  const admin = (...args: readonly string[]) => run([...args, ...database.flags]);

  it('makes an account and a key that work at once, in another process too', async () => {
    expect(await store.accounts.get(id)).toMatchObject({ name: 'Acme', plan: 'trial' });
    const { stdout } = runCli(['admin', 'key', 'create', 'Acme', '--name', 'ci', ...database.flags]);
    expect(stdout).toMatch(/^svc_live_[A-Za-z0-9_-]{49}\n$/);
    expect((await store.keys.find(stdout.trim()))?.key).toMatchObject({ name: 'ci', accountId: id });
  });

  it('rotates and revokes by id, by account and id, or by the key itself', async () => {
    const first = (await admin('key', 'create', id)).out.trim();
    const second = (await admin('key', 'rotate', first, '--grace', '0')).out.trim();
    expect(await store.keys.find(first)).toBeUndefined();
    const keyId = (await store.keys.find(second))?.key.id ?? '';
    const third = (await admin('key', 'rotate', 'Acme', keyId, '--grace', '60')).out.trim();
    expect(await store.keys.find(second)).toBeDefined();
    expect((await admin('key', 'revoke', keyId)).code).toBe(0);
    expect(await store.keys.find(second)).toBeUndefined();
    expect((await admin('key', 'revoke', third)).code).toBe(0);
    expect(await store.keys.find(third)).toBeUndefined();
    const { out } = await admin('key', 'list', id);
    expect(out).toMatch(/revoked 20/);
    expect(out).not.toContain(second.slice(9, 40));
  });

  it('sets plan, trial end and bought calls', async () => {
    await admin('plan', 'set', 'Acme', 'starter');
    await admin('overage', 'grant', id, '250');
    await admin('account', 'set-trial-end', 'Acme', '2026-12-31');
    expect(await store.accounts.get(id)).toMatchObject({
      plan: 'starter',
      overageLeft: 250,
      trialEndsAt: Date.UTC(2026, 11, 31),
    });
    expect(JSON.parse((await admin('account', 'show', id, '--json')).out)).toMatchObject({
      id,
      quota: { limit: 10_000, remaining: 10_250 },
    });
    expect((await admin('account', 'list')).out).toContain('starter');
  });

  it('sets, shows and removes the policy of calls', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'portcullis-policy-')), 'policy.json');
    const policy = { on: { flow: { suspicious: 'deny', foreign: 'deny' } }, tools: {} };
    writeFileSync(file, JSON.stringify(policy));
    expect((await admin('flow-policy', 'set', 'Acme', file)).out).toBe(`${id}: the policy is in force\n`);
    expect((await store.accounts.get(id))?.flowPolicy).toEqual(policy);
    expect(JSON.parse((await admin('flow-policy', 'show', id)).out)).toEqual(policy);
    writeFileSync(file, '{ "on": { "user": "report" } }');
    const refused = await admin('flow-policy', 'set', 'Acme', file);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('on of an account has no option user')]);
    expect((await admin('flow-policy', 'remove', id)).out).toBe(`${id}: no policy\n`);
    expect((await store.accounts.get(id))?.flowPolicy).toBeNull();
    rmSync(dirname(file), { recursive: true });
  });

  it('makes users with a password, and resets it', async () => {
    const first = (await admin('user', 'create', 'Ops@example.com', 'Acme')).out.trim();
    const hash = async (): Promise<string> => (await store.users.findByEmail('ops@example.com'))?.passwordHash ?? '';
    expect(await passwordMatches(await hash(), first)).toBe(true);
    const second = (await admin('user', 'reset-password', 'ops@example.com')).out.trim();
    expect([await passwordMatches(await hash(), first), await passwordMatches(await hash(), second)]).toEqual([
      false,
      true,
    ]);
    expect(await store.users.members(id)).toMatchObject([{ email: 'ops@example.com', role: 'owner' }]);
  });

  it('unlocks an e-mail after failed attempts', async () => {
    const begin = () => store.attempts.begin(emailAttempts('ops@example.com'), () => 60_000);
    expect([await begin(), (await begin()) > 0]).toEqual([0, true]);
    expect((await admin('user', 'unlock', 'Ops@example.com')).out).toBe('ops@example.com: unlocked\n');
    expect(await begin()).toBe(0);
    await admin('user', 'unlock', 'ops@example.com');
    expect((await admin('user', 'unlock', 'ops@example.com')).out).toContain('had no failed attempts');
  });

  it('purges by a clock that has jumped only when told to trust it', async () => {
    await store.notes.set('purge-clock', String(Date.now() - 30 * 86_400_000));
    const { code, out, err } = await admin('purge');
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/no purge: by the clock .* the last purge was 30 days ago/);
    expect((await admin('purge', '--trust-clock')).out).toBe('0 evidence records purged\n');
    expect((await admin('purge')).code).toBe(0);
  });

  it('approves an order, purges and checks', async () => {
    const order = await store.orders.create(id, { kind: 'overage', packs: 1 });
    expect((await admin('order', 'list')).out).toContain(order.id);
    expect((await admin('order', 'approve', order.id)).out).toContain('approved');
    expect((await store.accounts.get(id))?.overageLeft).toBe(10_250);
    expect((await admin('purge')).out).toBe('0 evidence records purged\n');
    expect(await admin('check')).toEqual({ code: 0, out: 'ok\n', err: '' });
  });

  it('writes each change into the audit log of its account, without a secret', async () => {
    const entries = await store.audit.list(id, {}, null, 500);
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set(['operator']));
    const actions = new Set(entries.map(({ action }) => action));
    for (const action of [
      ...['account.create', 'account.trial-end', 'key.create', 'key.rotate', 'key.revoke', 'plan.set', 'overage.grant'],
      ...['order.approve', 'member.create', 'password.reset', 'flow-policy.replace', 'flow-policy.remove'],
    ])
      expect(actions).toContain(action);
    expect(JSON.stringify(entries)).not.toMatch(/svc_live_|password"|argon2/);
  });

  it.each([
    [['key', 'create', 'Nobody'], 'no account "Nobody"'],
    [['plan', 'set', 'Acme', 'gold'], 'no plan "gold"; there are: trial, starter, pro, scale'],
    [['overage', 'grant', 'Acme', '-5'], '"-5" is not a number of calls'],
    [['overage', 'grant', 'Acme', '1.5'], '"1.5" is not a number of calls'],
    [['account', 'set-trial-end', 'Acme', 'soon'], 'is not a date'],
    [['key', 'revoke', 'key_0'], 'no key "key_0"'],
    [['user', 'reset-password', 'x@example.com'], 'no user "x@example.com"'],
    [['order', 'approve', 'order_0'], 'no order "order_0"'],
  ])('says what is wrong with %j', async (args, message) => {
    const { code, out, err } = await admin(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(message);
    expect(err).not.toContain('a bug');
  });
});

describe('portcullis admin without its data', () => {
  it.each([
    [['account', 'list'], '--data DIR or --database-url URL'],
    [['account', 'list', '--data', '/nowhere/at/all'], 'no Portcullis database in'],
    [['account', 'list', '--data', 'x', '--database-url', 'y'], 'not both'],
    [['account', 'list', '--database-url', 'postgres://u:secret@127.0.0.1:1/x'], "127.0.0.1:1/x can't be reached"],
  ])('says so: %j', async (args, message) => {
    const { code, err } = await run(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(err).not.toContain('secret');
  });

  it('makes the data folder with the first account, for its owner alone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-admin-'));
    const data = join(folder, 'new', 'data');
    const { out } = await run(['account', 'create', 'First', '--data', data]);
    const store = await openStore({ data });
    expect((await store.accounts.list()).map((it) => it.id)).toEqual([out.trim()]);
    await store.close();
    rmSync(folder, { recursive: true });
  });
});
