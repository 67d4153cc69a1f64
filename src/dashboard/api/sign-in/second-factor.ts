import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { errorCode } from '../../../engine/errors.js';
import type { Store } from '../../../store/store.js';
import { type ApiApp, ApiError, type DashboardParts, givenPasswordSchema, orRefuse } from '../api-parts.js';
import { beginAttempt } from './attempts.js';
import { passwordMatches } from './password-hash.js';
import { getMember } from './session.js';

/** Six digits of an app, or a recovery code. */
export const codeSchema: z.ZodType<string> = z.string().trim().min(1, 'Enter a code.').max(40);
const passwordBody = z.object({ password: givenPasswordSchema });
const codeBody = z.object({ code: codeSchema });
const removeBody = passwordBody.extend({ code: codeSchema });

/** Error code of a sign-in with the right password and without a code. */
const SECOND_FACTOR = 'SECOND_FACTOR';

const codes = { loaded: undefined as Promise<OneTimePasswords | undefined> | undefined };
const load = (): Promise<OneTimePasswords | undefined> => {
  codes.loaded ??= loadOneTimePasswords();
  return codes.loaded;
};

const wrongCode = (): ApiError => new ApiError(401, 'The code is wrong, or was used before.', SECOND_FACTOR);

/** Whether a code is right; it never is twice. */
async function takeCode(store: Store, userId: string, code: string, now: number): Promise<boolean> {
  const factor = await store.secondFactors.get(userId);
  const otp = await load();
  if (factor === undefined) return false;
  const step = otp?.stepOf(factor.secret, code, now);
  if (step !== undefined) return store.secondFactors.takeStep(userId, step);
  return factor.confirmed && store.secondFactors.takeRecoveryCode(userId, code);
}

/** Key by which attempts at a user's codes are counted. A right password doesn't reset them. */
function codeAttempts(userId: string): string {
  return `code ${userId}`;
}

/** Asks for the code of a user who has a second factor. @throws ApiError 401 where it is missing or wrong */
export async function requireCode(store: Store, userId: string, code: string | undefined, now: number): Promise<void> {
  const factor = await store.secondFactors.get(userId);
  if (factor === undefined || !factor.confirmed) return;
  if (code === undefined) throw new ApiError(401, 'Enter the code of your authenticator app.', SECOND_FACTOR);
  if (!(await takeCode(store, userId, code, now))) throw wrongCode();
}

/** One's own second factor: switching it on takes the password and a first code, switching it off the password and a code. */
export function secondFactorRoutes(app: ApiApp, { store, now }: DashboardParts): void {
  const requirePassword = async (userId: string, password: string): Promise<void> => {
    const user = await store.users.get(userId);
    if (user === undefined || !(await passwordMatches(user.passwordHash, password)))
      throw new ApiError(403, 'The password is wrong.');
  };

  app.get('/second-factor', async (request) => {
    const factor = await store.secondFactors.get(getMember(request).id);
    const isOn = factor?.confirmed === true;
    return { available: (await load()) !== undefined, on: isOn, recoveryLeft: isOn ? factor.recoveryLeft : 0 };
  });

  app.post('/second-factor', { schema: { body: passwordBody } }, async (request, reply) => {
    const { id, email } = getMember(request);
    const otp = await load();
    if (otp === undefined) throw new ApiError(409, 'The operator has not installed the package `otpauth`.');
    const attempt = await beginAttempt(store.attempts, { request, reply }, `user ${id}`, true);
    await requirePassword(id, request.body.password);
    await attempt.right();
    const secret = otp.newSecret();
    const recoveryCodes = newRecoveryCodes();
    const already = new ApiError(409, 'A second factor is already on.');
    await orRefuse('STORE_CONFLICT', already, store.secondFactors.begin(id, secret, recoveryCodes));
    return { secret, uri: otp.uri(secret, email), recoveryCodes };
  });

  app.post('/second-factor/confirm', { schema: { body: codeBody } }, async (request, reply) => {
    const { id } = getMember(request);
    const attempt = await beginAttempt(store.attempts, { request, reply }, codeAttempts(id), true);
    if (!(await takeCode(store, id, request.body.code, now()))) throw new ApiError(403, 'The code is wrong.');
    await attempt.right();
    return { on: true };
  });

  app.post('/second-factor/remove', { schema: { body: removeBody } }, async (request, reply) => {
    const { id } = getMember(request);
    const { password, code } = request.body;
    const attempt = await beginAttempt(store.attempts, { request, reply }, codeAttempts(id), true);
    await requirePassword(id, password);
    if (!(await takeCode(store, id, code, now()))) throw new ApiError(403, 'The code is wrong, or was used before.');
    await attempt.right();
    await store.secondFactors.remove(id);
    return { on: false };
  });
}

const ISSUER = 'Portcullis';
/** Seconds that a code is for. */
const PERIOD = 30;
/** Steps before and after the present one whose codes are taken: clocks differ. */
const WINDOW = 1;

/** Time-based one-time passwords, six digits every 30 seconds. @see RFC 6238 */
export interface OneTimePasswords {
  /** A fresh secret of 160 bits, base32. */
  newSecret(): string;
  /** URI that authenticator apps read. */
  uri(secret: string, email: string): string;
  /** The time step that a code belongs to; undefined for a wrong code. `now` in milliseconds since 1970. */
  stepOf(secret: string, code: string, now: number): number | undefined;
}

/** By the package `otpauth`; undefined where it isn't installed. */
async function loadOneTimePasswords(): Promise<OneTimePasswords | undefined> {
  try {
    const { Secret, TOTP } = await import('otpauth');
    const of = (secret: string, label = '') =>
      new TOTP({ issuer: ISSUER, label, secret: Secret.fromBase32(secret), digits: 6, period: PERIOD });
    return {
      newSecret: () => new Secret({ size: 20 }).base32,
      uri: (secret, email) => of(secret, email).toString(),
      stepOf(secret, code, now) {
        const delta = of(secret).validate({ token: code.replace(/\s/g, ''), timestamp: now, window: WINDOW });
        return delta === null ? undefined : Math.floor(now / 1000 / PERIOD) + delta;
      },
    };
  } catch (error) {
    if (errorCode(error) === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Ten codes, each of which replaces one code of the app: `4f7k-9q2m-x8ab`. 60 bits each. */
function newRecoveryCodes(): readonly string[] {
  const alphabet = '23456789abcdefghjkmnpqrstuvwxyz0';
  return Array.from({ length: 10 }, () => {
    const letters = [...randomBytes(12)].map((byte) => alphabet[byte & 31]).join('');
    return letters.replace(/(.{4})(?=.)/g, '$1-');
  });
}
