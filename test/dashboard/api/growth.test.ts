import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, type Caller, signIn, type TestDashboard, testDashboard } from '../test-dashboard.js';

let time = Date.UTC(2026, 10, 22, 12);
let it: TestDashboard;
let owner: Caller;
const BODY = { account: 'A', email: 'a@example.com', password: 'a long password' };

beforeAll(async () => {
  it = await testDashboard({ now: () => time });
  owner = await signIn(it, 'sign-up', BODY);
});
afterAll(() => it.close());

test('an account makes a bounded number of keys a day, by rotation too', async () => {
  for (let at = 0; at < 99; at++) await it.store.keys.create(owner.accountId, `key ${at}`);
  const made = await ask(it, owner, 'POST', '/keys', { name: 'one more' });
  expect(made.statusCode).toBe(200);
  expect((await ask(it, owner, 'POST', '/keys', { name: 'too many' })).statusCode).toBe(429);
  const rotated = await ask(it, owner, 'POST', `/keys/${made.json().id}/rotate`, { graceSeconds: 0 });
  expect(rotated.statusCode).toBe(429);
  expect((await ask(it, owner, 'POST', `/keys/${made.json().id}/revoke`, {})).statusCode).toBe(200);
  time += 86_400_001;
  owner = await signIn(it, 'sign-in', BODY);
  expect((await ask(it, owner, 'POST', '/keys', { name: 'the next day' })).statusCode).toBe(200);
});

test('a bounded number of invitations waits', async () => {
  const invite = (at: number) =>
    ask(it, owner, 'POST', '/invitations', { email: `m${at}@example.com`, role: 'viewer' });
  const first = await invite(0);
  expect(first.statusCode).toBe(200);
  for (let at = 1; at < 100; at++)
    await it.store.users.invite(owner.accountId, `m${at}@example.com`, 'viewer', time + 86_400_000);
  expect((await invite(100)).statusCode).toBe(409);
  const [waiting] = await it.store.users.invitations(owner.accountId);
  await ask(it, owner, 'DELETE', `/invitations/${waiting?.id}`);
  expect((await invite(100)).statusCode).toBe(200);
});

test('an account applies a bounded number of overlay versions a day', async () => {
  const overlay = { rules: {}, allow: [] };
  const version = { source: 'threshold: 0.5\n', overlay, note: '', rulesVersion: 'x', actor: 'a@example.com' };
  for (let at = 0; at < 49; at++) await it.store.overlays.apply(owner.accountId, version);
  const apply = (replaces: number) => ask(it, owner, 'POST', '/overlay', { source: version.source, replaces });
  expect((await apply(49)).statusCode).toBe(200);
  expect((await apply(50)).statusCode).toBe(429);
  time += 86_400_001;
  owner = await signIn(it, 'sign-in', BODY);
  expect((await apply(50)).statusCode).toBe(200);
});
