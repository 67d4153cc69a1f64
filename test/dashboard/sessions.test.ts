import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, type Caller, newMember, signIn, type TestDashboard, testDashboard } from './test-dashboard.js';

const password = 'a long password';
let it: TestDashboard;
let ada: Caller;

beforeAll(async () => {
  it = await testDashboard();
  ada = await signIn(it, 'sign-up', { account: 'Ada', email: 'ada@example.com', password });
});
afterAll(() => it.close());

describe('sessions', () => {
  const give = (headers: Record<string, string>) =>
    ask(it, headers, 'POST', '/sign-in', { email: 'ada@example.com', password });

  test('the cookie is guarded', async () => {
    const [cookie] = (await give({})).cookies;
    expect(cookie).toMatchObject({
      name: '__Host-portcullis',
      httpOnly: true,
      secure: true,
      sameSite: 'Strict',
      path: '/',
    });
  });

  test('over plain http on another host the cookie has no prefix', async () => {
    const { cookies } = await give({ host: 'screen.example.com' });
    expect(cookies[0]).toMatchObject({ name: 'portcullis_session', httpOnly: true, sameSite: 'Strict' });
    expect(cookies[0]?.secure).toBeUndefined();
  });

  test('another site cannot sign a reader in', async () => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }])
      expect((await give(headers)).statusCode).toBe(403);
  });

  test('it ends when signed out and when its time is over', async () => {
    const clock = { time: 1_800_000_000_000 };
    const other = await testDashboard({ now: () => clock.time });
    const caller = await signIn(other, 'sign-up', { account: 'C', email: 'c@example.com', password });
    const look = async () => (await ask(other, caller, 'GET', '/keys')).statusCode;
    expect(await look()).toBe(200);
    clock.time += 12 * 3_600_000;
    expect(await look()).toBe(401);
    clock.time -= 1;
    expect(await look()).toBe(200);
    await ask(other, caller, 'POST', '/sign-out', {});
    expect(await look()).toBe(401);
    await other.close();
  });

  test('the ninth attempt on one e-mail has to wait, right password or not', async () => {
    const other = await testDashboard();
    await signIn(other, 'sign-up', { account: 'D', email: 'd@example.com', password });
    const attempt = (given: string) => ask(other, {}, 'POST', '/sign-in', { email: 'd@example.com', password: given });
    const codes = [];
    for (let round = 0; round < 7; round += 1) codes.push((await attempt('wrong password')).statusCode);
    expect(codes).toEqual([401, 401, 401, 401, 401, 401, 401]);
    expect((await attempt(password)).statusCode).toBe(429);
    await other.close();
  });

  test('sign-up can be switched off, and makes nothing then', async () => {
    const other = await testDashboard({ signUp: false });
    const response = await ask(other, {}, 'POST', '/sign-up', { account: 'E', email: 'e@example.com', password });
    expect(response.statusCode).toBe(403);
    expect(await other.store.accounts.list()).toEqual([]);
    expect((await ask(other, {}, 'GET', '/session')).json()).toMatchObject({ member: null, signUp: false });
    await other.close();
  });
});

describe('members', () => {
  test('an invitation is taken up once, by who knows the password if there is one', async () => {
    const { token } = (await ask(it, ada, 'POST', '/invitations', { email: 'Bea@example.com', role: 'viewer' })).json();
    const look = async () => (await ask(it, {}, 'POST', '/invitation/look', { token })).json();
    expect(await look()).toEqual({ email: 'bea@example.com', role: 'viewer', accountName: 'Ada', known: false });
    const short = await ask(it, {}, 'POST', '/invitation/accept', { token, password: 'short' });
    expect(short.statusCode).toBe(400);
    const bea = await signIn(it, 'invitation/accept', { token, password });
    expect(bea.accountId).toBe(ada.accountId);
    expect((await ask(it, {}, 'POST', '/invitation/accept', { token, password })).statusCode).toBe(404);

    const cem = await signIn(it, 'sign-up', { account: 'Cem', email: 'cem@example.com', password });
    const again = (await ask(it, ada, 'POST', '/invitations', { email: 'cem@example.com', role: 'owner' })).json();
    const wrong = { token: again.token, password: 'a wrong password' };
    expect((await ask(it, {}, 'POST', '/invitation/accept', wrong)).statusCode).toBe(401);
    const joined = await signIn(it, 'invitation/accept', { token: again.token, password });
    expect([joined.memberId, joined.accountId]).toEqual([cem.memberId, ada.accountId]);
    const { accounts } = (await ask(it, joined, 'GET', '/session')).json();
    expect(accounts.map(({ name }: { name: string }) => name)).toEqual(['Ada', 'Cem']);
    const back = await ask(it, joined, 'PUT', '/session/account', { accountId: cem.accountId });
    expect(back.json().member).toMatchObject({ accountId: cem.accountId, role: 'owner' });
    expect((await ask(it, joined, 'GET', '/settings')).json().members).toHaveLength(1);
    expect((await ask(it, bea, 'PUT', '/session/account', { accountId: cem.accountId })).statusCode).toBe(404);
  });

  test('a withdrawn invitation opens nothing', async () => {
    const { token } = (await ask(it, ada, 'POST', '/invitations', { email: 'dee@example.com', role: 'owner' })).json();
    const { invitations } = (await ask(it, ada, 'GET', '/settings')).json();
    const found = invitations.find((one: { email: string }) => one.email === 'dee@example.com');
    await ask(it, ada, 'DELETE', `/invitations/${found.id}`);
    expect((await ask(it, {}, 'POST', '/invitation/accept', { token, password })).statusCode).toBe(404);
  });

  test('roles change at once, and an owner is always left', async () => {
    const eve = await newMember(it, ada, 'eve@example.com', 'viewer');
    const create = async () => (await ask(it, eve, 'POST', '/keys', { name: 'x' })).statusCode;
    expect(await create()).toBe(403);
    const promote = await ask(it, ada, 'PUT', `/members/${eve.memberId}`, { role: 'owner' });
    expect(promote.statusCode).toBe(200);
    expect(await create()).toBe(200);
    const lone = await signIn(it, 'sign-up', { account: 'Lone', email: 'lone@example.com', password });
    const demote = await ask(it, lone, 'PUT', `/members/${lone.memberId}`, { role: 'viewer' });
    expect(demote.statusCode).toBe(404);
    expect((await ask(it, lone, 'DELETE', `/members/${lone.memberId}`)).statusCode).toBe(404);
    await ask(it, ada, 'DELETE', `/members/${eve.memberId}`);
    expect((await ask(it, eve, 'GET', '/keys')).statusCode).toBe(401);
  });

  test('a new password ends every other session', async () => {
    const fay = await newMember(it, ada, 'fay@example.com', 'viewer');
    const elsewhere = await signIn(it, 'sign-in', { email: 'fay@example.com', password });
    const change = (current: string) => ask(it, fay, 'PUT', '/password', { current, next: 'an even longer one' });
    expect((await change('a wrong password')).statusCode).toBe(403);
    expect((await ask(it, elsewhere, 'GET', '/keys')).statusCode).toBe(200);
    const response = await change(password);
    expect(response.statusCode).toBe(200);
    for (const old of [fay, elsewhere]) expect((await ask(it, old, 'GET', '/keys')).statusCode).toBe(401);
    const [cookie] = response.cookies;
    const fresh = await ask(it, { cookie: `${cookie?.name}=${cookie?.value}` }, 'GET', '/keys');
    expect(fresh.statusCode).toBe(200);
    expect((await ask(it, {}, 'POST', '/sign-in', { email: 'fay@example.com', password })).statusCode).toBe(401);
  });
});

test('a mistake in a request is refused without being quoted', async () => {
  const response = await ask(it, ada, 'PUT', '/settings', { keep: 'quoted-secret', retentionDays: 0 });
  expect(response.statusCode).toBe(400);
  expect(response.body).not.toContain('quoted-secret');
});
