import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { emailAttempts } from '../../../src/store/user-store.js';
import { ask, type Caller, newMember, signIn, type TestDashboard, testDashboard } from '../test-dashboard.js';

const PASSWORD = 'a long password';
let it: TestDashboard;
let ada: Caller;

beforeAll(async () => {
  it = await testDashboard();
  ada = await signIn(it, 'sign-up', { account: 'Ada', email: 'ada@example.com', password: PASSWORD });
});
afterAll(() => it.close());

describe('sessions', () => {
  const give = (headers: Record<string, string>) =>
    ask(it, headers, 'POST', '/sign-in', { email: 'ada@example.com', password: PASSWORD });

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

  test.each<[string, Parameters<typeof testDashboard>[0], Record<string, string>]>([
    ['--public-url is https', { publicUrl: 'https://screen.example.com' }, { host: 'inner:8080' }],
    [
      'a trusted proxy says so',
      { trustProxy: ['127.0.0.1'] },
      { host: 'inner:8080', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'screen.example.com' },
    ],
  ])('behind TLS the cookies are guarded: %s', async (_, parts, headers) => {
    const other = await testDashboard(parts);
    await ask(other, headers, 'POST', '/sign-up', { account: 'T', email: 't@example.com', password: PASSWORD });
    const origin = { ...headers, origin: 'https://screen.example.com' };
    const { statusCode, cookies } = await ask(other, origin, 'POST', '/sign-in', {
      email: 't@example.com',
      password: PASSWORD,
    });
    expect(statusCode).toBe(200);
    expect(cookies.map(({ name }) => name)).toEqual(['__Host-portcullis', '__Host-portcullis-device']);
    for (const cookie of cookies) expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: 'Strict' });
    const cookie = `${cookies[0]?.name}=${cookies[0]?.value}`;
    expect((await ask(other, { ...headers, cookie }, 'GET', '/keys')).statusCode).toBe(200);
    await other.close();
  });

  test('nobody but a trusted proxy says that there is TLS', async () => {
    const headers = { host: 'inner:8080', 'x-forwarded-proto': 'https' };
    expect((await give(headers)).cookies[0]).toMatchObject({ name: 'portcullis_session' });
  });

  test('another site cannot sign a reader in', async () => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }])
      expect((await give(headers)).statusCode).toBe(403);
  });

  test('it ends when signed out and when its time is over', async () => {
    const clock = { time: 1_800_000_000_000 };
    const other = await testDashboard({ now: () => clock.time });
    const caller = await signIn(other, 'sign-up', { account: 'C', email: 'c@example.com', password: PASSWORD });
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

  test('failures make the next attempt wait, longer each time; the right password and a known browser go on', async () => {
    const clock = { time: 1_800_000_000_000 };
    const other = await testDashboard({ now: () => clock.time });
    const email = 'd@example.com';
    const { cookies } = await ask(other, {}, 'POST', '/sign-up', { account: 'D', email, password: PASSWORD });
    const device = cookies.find(({ name }) => name.endsWith('device'));
    const known = { cookie: `${device?.name}=${device?.value}` };
    const attempt = (given: string, headers: Record<string, string> = {}) =>
      ask(other, headers, 'POST', '/sign-in', { email, password: given });
    const codes = async (times: number, given: string) => {
      const all = [];
      for (let round = 0; round < times; round += 1) all.push((await attempt(given)).statusCode);
      return all;
    };
    expect(await codes(12, PASSWORD), 'only failures count').toEqual(Array.from({ length: 12 }, () => 200));
    expect(await codes(6, 'wrong')).toEqual([401, 401, 401, 401, 401, 401]);
    const waits = [];
    for (let round = 0; round < 12; round += 1) {
      const refused = await attempt(PASSWORD);
      expect(refused.statusCode).toBe(429);
      waits.push(Number(refused.headers['retry-after']));
      expect((await attempt(PASSWORD, known)).statusCode, 'a browser that was here before').toBe(200);
      clock.time += Number(refused.headers['retry-after']) * 1000;
      expect((await attempt('wrong')).statusCode).toBe(401);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    expect((await attempt(PASSWORD)).statusCode).toBe(429);
    expect(await other.store.attempts.forget(emailAttempts(' D@example.com')), 'portcullis admin user unlock').toBe(
      true,
    );
    expect((await attempt(PASSWORD)).statusCode).toBe(200);
    await other.close();
  });

  test('a known browser is no way around the waiting', async () => {
    const other = await testDashboard();
    const { cookies } = await ask(other, {}, 'POST', '/sign-up', {
      account: 'K',
      email: 'k@example.com',
      password: PASSWORD,
    });
    const device = cookies.find(({ name }) => name.endsWith('device'));
    const headers = { cookie: `${device?.name}=${device?.value}` };
    const codes = [];
    for (let round = 0; round < 7; round += 1)
      codes.push((await ask(other, headers, 'POST', '/sign-in', { email: 'k@example.com', password: 'x' })).statusCode);
    expect(codes).toEqual([401, 401, 401, 401, 401, 401, 429]);
    await other.close();
  });

  test('many failures at many e-mails make their address wait, and nobody else', async () => {
    const other = await testDashboard();
    const attempt = (round: number, remoteAddress: string) =>
      other.app.inject({
        ...{ method: 'POST', url: '/dashboard/api/sign-in', remoteAddress },
        payload: { email: `nobody${round}@example.com`, password: 'x' },
      });
    for (let round = 0; round < 31; round += 1) expect((await attempt(round, '192.0.2.1')).statusCode).toBe(401);
    expect((await attempt(31, '192.0.2.1')).statusCode).toBe(429);
    expect((await attempt(31, '192.0.2.2')).statusCode).toBe(401);
    // One customer of IPv6 has a network of them.
    for (let round = 0; round < 31; round += 1)
      expect((await attempt(100 + round, `2001:db8:1:2::${round}`)).statusCode).toBe(401);
    expect((await attempt(131, '2001:db8:1:2:ffff::1')).statusCode).toBe(429);
    expect((await attempt(131, '2001:db8:1:3::1')).statusCode).toBe(401);
    await other.close();
  });

  test('sign-up can be switched off, and makes nothing then', async () => {
    const other = await testDashboard({ signUp: false });
    const response = await ask(other, {}, 'POST', '/sign-up', {
      account: 'E',
      email: 'e@example.com',
      password: PASSWORD,
    });
    expect(response.statusCode).toBe(403);
    expect(await other.store.accounts.list()).toEqual([]);
    expect((await ask(other, {}, 'GET', '/session')).json()).toMatchObject({ member: null, signUp: false });
    await other.close();
  });
});

describe('members', () => {
  test('an invitation is taken up once, by somebody new or by who knows their password', async () => {
    const { token } = (await ask(it, ada, 'POST', '/invitations', { email: 'Bea@example.com', role: 'viewer' })).json();
    const look = async () => (await ask(it, {}, 'POST', '/invitation/look', { token })).json();
    expect(await look()).toEqual({ email: 'bea@example.com', role: 'viewer', accountName: 'Ada' });
    const short = await ask(it, {}, 'POST', '/invitation/accept', { token, password: 'short' });
    expect(short.statusCode).toBe(400);
    const bea = await signIn(it, 'invitation/accept', { token, password: PASSWORD });
    expect(bea.accountId).toBe(ada.accountId);
    expect((await ask(it, {}, 'POST', '/invitation/accept', { token, password: PASSWORD })).statusCode).toBe(404);

    const cem = await signIn(it, 'sign-up', { account: 'Cem', email: 'cem@example.com', password: PASSWORD });
    const again = (await ask(it, ada, 'POST', '/invitations', { email: 'cem@example.com', role: 'owner' })).json();
    const wrong = { token: again.token, password: 'a wrong password', as: 'member' };
    expect((await ask(it, {}, 'POST', '/invitation/accept', wrong)).statusCode).toBe(401);
    const joined = await signIn(it, 'invitation/accept', { token: again.token, password: PASSWORD, as: 'member' });
    expect([joined.memberId, joined.accountId]).toEqual([cem.memberId, ada.accountId]);
    const { accounts } = (await ask(it, joined, 'GET', '/session')).json();
    expect(accounts.map(({ name }: { name: string }) => name)).toEqual(['Ada', 'Cem']);
    const back = await ask(it, joined, 'PUT', '/session/account', { accountId: cem.accountId });
    expect(back.json().member).toMatchObject({ accountId: cem.accountId, role: 'owner' });
    expect((await ask(it, joined, 'GET', '/settings')).json().members).toHaveLength(1);
    expect((await ask(it, bea, 'PUT', '/session/account', { accountId: cem.accountId })).statusCode).toBe(404);
  });

  test('who keeps the link of an invitation binds no password to the e-mail of somebody else', async () => {
    const email = 'victim@example.com';
    const link = async (by: Caller) =>
      (await ask(it, by, 'POST', '/invitations', { email, role: 'owner' })).json().token;
    const mallory = await signIn(it, 'sign-up', {
      account: 'Mallory',
      email: 'mallory@example.com',
      password: PASSWORD,
    });
    const trap = await signIn(it, 'invitation/accept', { token: await link(mallory), password: 'known to mallory' });
    // Invited to Ada's account: the victim sets their own password there.
    const victim = await signIn(it, 'invitation/accept', { token: await link(ada), password: 'known to the victim' });
    expect(victim.memberId).not.toBe(trap.memberId);
    const accountOf = async (given: string) => (await signIn(it, 'sign-in', { email, password: given })).accountId;
    expect(await accountOf('known to the victim')).toBe(ada.accountId);
    expect(await accountOf('known to mallory')).toBe(mallory.accountId);
    const { accounts } = (await ask(it, trap, 'GET', '/session')).json();
    expect(accounts.map(({ name }: { name: string }) => name)).toEqual(['Mallory']);
    // And nothing keeps them from an account of their own.
    const own = await signIn(it, 'sign-up', { account: 'Victim', email, password: 'their own account' });
    expect(own.memberId).not.toBe(victim.memberId);
  });

  test('neither a look at an invitation nor its acceptance tells whether an e-mail is known', async () => {
    await signIn(it, 'sign-up', { account: 'Known', email: 'known@example.com', password: PASSWORD });
    const answers = [];
    for (const email of ['known@example.com', 'unknown@example.com']) {
      const { token } = (await ask(it, ada, 'POST', '/invitations', { email, role: 'viewer' })).json();
      const look = await ask(it, {}, 'POST', '/invitation/look', { token });
      const wrong = await ask(it, {}, 'POST', '/invitation/accept', { token, password: 'wrong one', as: 'member' });
      const joined = await ask(it, {}, 'POST', '/invitation/accept', { token, password: 'a new password' });
      const { accounts } = joined.json();
      answers.push([Object.keys(look.json()), wrong.statusCode, wrong.json(), joined.statusCode, accounts.length]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.slice(1, 2)).toEqual([401]);
  });

  test('guesses through invitations count as guesses at the e-mail', async () => {
    const email = 'guessed@example.com';
    await signIn(it, 'sign-up', { account: 'Guessed', email, password: PASSWORD });
    const codes = [];
    for (let round = 0; round < 7; round += 1) {
      const { token } = (await ask(it, ada, 'POST', '/invitations', { email, role: 'viewer' })).json();
      codes.push((await ask(it, {}, 'POST', '/invitation/accept', { token, password: 'x', as: 'member' })).statusCode);
    }
    expect(codes.at(-1)).toBe(429);
    expect((await ask(it, {}, 'POST', '/sign-in', { email, password: PASSWORD })).statusCode).toBe(429);
    await it.store.attempts.forget(emailAttempts(email));
  });

  test('sign-in goes to the account used last', async () => {
    const gus = await signIn(it, 'sign-up', { account: 'Gus', email: 'gus@example.com', password: PASSWORD });
    const { token } = (await ask(it, ada, 'POST', '/invitations', { email: 'gus@example.com', role: 'viewer' })).json();
    const joined = await signIn(it, 'invitation/accept', { token, password: PASSWORD, as: 'member' });
    const signedIn = async () =>
      (await signIn(it, 'sign-in', { email: 'gus@example.com', password: PASSWORD })).accountId;
    expect(await signedIn()).toBe(ada.accountId);
    await ask(it, joined, 'PUT', '/session/account', { accountId: gus.accountId });
    expect(await signedIn()).toBe(gus.accountId);
  });

  test('who joined as somebody new with the password they have is one person after signing in', async () => {
    await signIn(it, 'sign-up', { account: 'Hal', email: 'hal@example.com', password: PASSWORD });
    const { token } = (await ask(it, ada, 'POST', '/invitations', { email: 'hal@example.com', role: 'viewer' })).json();
    await signIn(it, 'invitation/accept', { token, password: PASSWORD });
    const hal = await signIn(it, 'sign-in', { email: 'hal@example.com', password: PASSWORD });
    const { accounts } = (await ask(it, hal, 'GET', '/session')).json();
    expect(accounts.map(({ name }: { name: string }) => name)).toEqual(['Ada', 'Hal']);
    expect(await it.store.users.allByEmail('hal@example.com')).toHaveLength(1);
  });

  test('a withdrawn invitation opens nothing', async () => {
    const { token } = (await ask(it, ada, 'POST', '/invitations', { email: 'dee@example.com', role: 'owner' })).json();
    const { invitations } = (await ask(it, ada, 'GET', '/settings')).json();
    const found = invitations.find((one: { email: string }) => one.email === 'dee@example.com');
    await ask(it, ada, 'DELETE', `/invitations/${found.id}`);
    expect((await ask(it, {}, 'POST', '/invitation/accept', { token, password: PASSWORD })).statusCode).toBe(404);
  });

  test('roles change at once, and an owner is always left', async () => {
    const eve = await newMember(it, ada, 'eve@example.com', 'viewer');
    const create = async () => (await ask(it, eve, 'POST', '/keys', { name: 'x' })).statusCode;
    expect(await create()).toBe(403);
    const promote = await ask(it, ada, 'PUT', `/members/${eve.memberId}`, { role: 'owner' });
    expect(promote.statusCode).toBe(200);
    expect(await create()).toBe(200);
    const lone = await signIn(it, 'sign-up', { account: 'Lone', email: 'lone@example.com', password: PASSWORD });
    const demote = await ask(it, lone, 'PUT', `/members/${lone.memberId}`, { role: 'viewer' });
    expect(demote.statusCode).toBe(404);
    expect((await ask(it, lone, 'DELETE', `/members/${lone.memberId}`)).statusCode).toBe(404);
    await ask(it, ada, 'DELETE', `/members/${eve.memberId}`);
    expect((await ask(it, eve, 'GET', '/keys')).statusCode).toBe(401);
  });

  test('a new password ends every other session', async () => {
    const fay = await newMember(it, ada, 'fay@example.com', 'viewer');
    const elsewhere = await signIn(it, 'sign-in', { email: 'fay@example.com', password: PASSWORD });
    const change = (current: string) => ask(it, fay, 'PUT', '/password', { current, next: 'an even longer one' });
    expect((await change('a wrong password')).statusCode).toBe(403);
    expect((await ask(it, elsewhere, 'GET', '/keys')).statusCode).toBe(200);
    const response = await change(PASSWORD);
    expect(response.statusCode).toBe(200);
    for (const old of [fay, elsewhere]) expect((await ask(it, old, 'GET', '/keys')).statusCode).toBe(401);
    const [cookie] = response.cookies;
    const fresh = await ask(it, { cookie: `${cookie?.name}=${cookie?.value}` }, 'GET', '/keys');
    expect(fresh.statusCode).toBe(200);
    expect((await ask(it, {}, 'POST', '/sign-in', { email: 'fay@example.com', password: PASSWORD })).statusCode).toBe(
      401,
    );
  });
});

test('a mistake in a request is refused without being quoted', async () => {
  const response = await ask(it, ada, 'PUT', '/settings', { keep: 'quoted-secret', retentionDays: 0 });
  expect(response.statusCode).toBe(400);
  expect(response.body).not.toContain('quoted-secret');
});

test('a body that is no JSON is a 400 that says where, and nothing is logged', async () => {
  for (const [path, headers] of [
    ['sign-in', {}],
    ['invitation/accept', {}],
    ['orders', { cookie: ada.cookie, 'x-csrf-token': ada.csrf }],
  ] as const) {
    const url = `/dashboard/api/${path}`;
    const sent = { ...headers, 'content-type': 'application/json' };
    const response = await it.app.inject({ method: 'POST', url, headers: sent, payload: '{"email": "a", secret}' });
    expect([path, response.statusCode]).toEqual([path, 400]);
    expect(response.json().error).toMatch(/\d/);
    expect(response.body).not.toContain('secret');
  }
});

test('one account has a bounded number of requests under way', async () => {
  const open: (() => void)[] = [];
  const waiting = await testDashboard();
  const caller = await signIn(waiting, 'sign-up', { account: 'Many', email: 'many@example.com', password: PASSWORD });
  const other = await signIn(waiting, 'sign-up', { account: 'Few', email: 'few@example.com', password: PASSWORD });
  const lists = vi
    .spyOn(waiting.store.evidence, 'list')
    .mockImplementation(
      () => new Promise((resolve) => open.push(() => resolve({ records: [], next: null, searchedTo: null }))),
    );
  const held = Array.from({ length: 16 }, () => ask(waiting, caller, 'GET', '/review/near'));
  await vi.waitFor(() => expect(open).toHaveLength(16));
  expect((await ask(waiting, caller, 'GET', '/keys')).statusCode).toBe(503);
  expect((await ask(waiting, other, 'GET', '/keys')).statusCode).toBe(200);
  for (const end of open) end();
  await Promise.all(held);
  lists.mockRestore();
  expect((await ask(waiting, caller, 'GET', '/keys')).statusCode).toBe(200);
  await waiting.close();
});

test('a dashboard path that is nowhere is a 404', async () => {
  for (const url of ['/dashboard/api/nowhere', '/dashboard/nowhere.js', '/dashboard/api/keys/x/y'])
    expect([url, (await it.app.inject({ url })).statusCode]).toEqual([url, 404]);
});

test('a trial cannot be ordered', async () => {
  const response = await ask(it, ada, 'POST', '/orders', { kind: 'plan', plan: 'trial' });
  expect([response.statusCode, response.json().error]).toEqual([409, 'A trial cannot be ordered.']);
});
