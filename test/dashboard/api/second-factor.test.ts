import { TOTP } from 'otpauth';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, type Caller, signIn, type TestDashboard, testDashboard } from '../test-dashboard.js';

const EMAIL = 'ada@example.com';
const PASSWORD = 'a long password';
let time = Date.UTC(2026, 10, 22, 12);
let it: TestDashboard;
let ada: Caller;
let secret: string;
let recovery: readonly string[];
const codeAt = (at: number): string => new TOTP({ secret, digits: 6, period: 30 }).generate({ timestamp: at });
const trySignIn = async (code?: string) =>
  it.app.inject({
    ...{ method: 'POST', url: '/dashboard/api/sign-in' },
    payload: { email: EMAIL, password: PASSWORD, ...(code === undefined ? {} : { code }) },
  });

beforeAll(async () => {
  it = await testDashboard({ now: () => time });
  ada = await signIn(it, 'sign-up', { account: 'Ada Ltd', email: EMAIL, password: PASSWORD });
}, 240_000);
afterAll(() => it.close());

test('takes the password and a first code to switch on; nothing changes before', async () => {
  expect((await ask(it, ada, 'POST', '/second-factor', { password: 'wrong password' })).statusCode).toBe(403);
  const begun = await ask(it, ada, 'POST', '/second-factor', { password: PASSWORD });
  expect(begun.statusCode).toBe(200);
  ({ secret, recoveryCodes: recovery } = begun.json());
  expect(begun.json().uri).toContain('otpauth://totp/Portcullis');
  expect(recovery).toHaveLength(10);
  expect((await trySignIn()).statusCode).toBe(200);
  expect((await ask(it, ada, 'POST', '/second-factor/confirm', { code: recovery[0] })).statusCode).toBe(403);
  expect((await ask(it, ada, 'POST', '/second-factor/confirm', { code: codeAt(time) })).statusCode).toBe(200);
  expect((await ask(it, ada, 'GET', '/second-factor')).json()).toEqual({ available: true, on: true, recoveryLeft: 10 });
  expect((await ask(it, ada, 'POST', '/second-factor', { password: PASSWORD })).statusCode).toBe(409);
});

test('is asked for at sign-in; a code works once, an old or future one never', async () => {
  time += 60_000;
  const asked = await trySignIn();
  expect([asked.statusCode, asked.json().code, asked.cookies]).toEqual([401, 'SECOND_FACTOR', []]);
  for (const wrong of ['000000', 'abc', codeAt(time - 120_000), codeAt(time + 120_000)])
    expect((await trySignIn(wrong)).statusCode, wrong).toBe(401);
  const right = codeAt(time);
  expect((await trySignIn(right)).statusCode).toBe(200);
  expect((await trySignIn(right)).statusCode).toBe(401);
});

test('a recovery code works instead, once', async () => {
  expect((await trySignIn(recovery[1])).statusCode).toBe(200);
  expect((await trySignIn(recovery[1])).statusCode).toBe(401);
  expect((await ask(it, ada, 'GET', '/second-factor')).json().recoveryLeft).toBe(9);
});

test('guesses are slowed down like those at a password', async () => {
  time += 86_400_000 * 2;
  const codes: number[] = [];
  for (let guess = 0; guess < 8; guess += 1) codes.push((await trySignIn('111111')).statusCode);
  expect(codes).toContain(429);
  time += 86_400_000 * 2;
});

test('a right password makes no wrong code forgotten', async () => {
  ada = await signIn(it, 'sign-in', { email: EMAIL, password: PASSWORD, code: codeAt(time) });
  time += 60_000;
  const guesses: number[] = [];
  for (let guess = 0; guess < 8; guess += 1) {
    const body = { password: PASSWORD, code: '111111' };
    guesses.push((await ask(it, ada, 'POST', '/second-factor/remove', body)).statusCode);
    expect((await ask(it, ada, 'POST', '/second-factor', { password: PASSWORD })).statusCode).toBe(409);
  }
  expect(guesses).toEqual([403, 403, 403, 403, 403, 403, 429, 429]);
  expect((await ask(it, ada, 'POST', '/second-factor/confirm', { code: '111111' })).statusCode).toBe(429);
  time += 86_400_000 * 2;
});

test('the password and a code switch it off', async () => {
  ada = await signIn(it, 'sign-in', { email: EMAIL, password: PASSWORD, code: codeAt(time) });
  time += 60_000;
  expect((await ask(it, ada, 'POST', '/second-factor/remove', { password: PASSWORD, code: '000000' })).statusCode).toBe(
    403,
  );
  expect(
    (await ask(it, ada, 'POST', '/second-factor/remove', { password: PASSWORD, code: codeAt(time) })).statusCode,
  ).toBe(200);
  expect((await trySignIn()).statusCode).toBe(200);
});
