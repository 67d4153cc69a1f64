import rateLimit from '@fastify/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { hashPassword, passwordMatches } from '../../adapters/password-hash.js';
import type { Member } from '../ports.js';
import { ApiError } from './api-error.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { refuseOtherSites } from './guard.js';
import { csrfToken, giveSession, sessionIdOf, sessionLength, takeSession } from './session-cookie.js';

/** An e-mail address, in lower case. */
export const emailSchema: z.ZodType<string> = z
  .string()
  .trim()
  .toLowerCase()
  .max(254)
  .regex(/^[^\s@]+@[^\s@]+$/, 'That is not an e-mail address.');
/** At least 10 characters; no rule about their kinds (NIST SP 800-63B). */
export const passwordSchema: z.ZodType<string> = z.string().min(10, 'At least 10 characters.').max(1000);

const signInBody = z.object({ email: emailSchema, password: z.string().max(1000) });
const signUpBody = z.object({
  account: z.string().trim().min(1, 'Give the account a name.').max(80),
  email: emailSchema,
  password: passwordSchema,
});

const window = 10 * 60_000;

/** Sign-in, sign-up, sign-out, and who is signed in. */
export async function signInRoutes(app: ApiApp, parts: DashboardParts): Promise<void> {
  const { store, now } = parts;
  await app.register(rateLimit, { global: false });
  const byAddress = app.createRateLimit({ max: 30, timeWindow: window });
  const byEmail = app.createRateLimit({ max: 8, timeWindow: window, keyGenerator: (it) => emailKey(it) });
  // Compared with where there is no such member, so that the time taken doesn't tell which e-mails exist.
  const nobody = hashPassword('nobody has this password');

  const slowDown = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    for (const check of [byAddress, byEmail]) {
      const limit = await check(request);
      if (limit.isAllowed || !limit.isExceeded) continue;
      reply.header('Retry-After', String(limit.ttlInSeconds));
      throw new ApiError(429, 'Too many attempts. Wait ten minutes.');
    }
  };
  const open = async (request: FastifyRequest, reply: FastifyReply, member: Member): Promise<unknown> => {
    const id = await store.openSession(member, now() + sessionLength);
    giveSession(request, reply, id);
    return { member, csrf: csrfToken(id), signUp: parts.signUp };
  };

  app.get('/session', async (request) => {
    const id = sessionIdOf(request);
    const session = id === undefined ? undefined : await store.findSession(id);
    if (id === undefined || session === undefined || session.expires <= now())
      return { member: null, csrf: null, signUp: parts.signUp };
    return { member: session.member, csrf: csrfToken(id), signUp: parts.signUp };
  });

  app.post('/sign-in', { schema: { body: signInBody } }, async (request, reply) => {
    refuseOtherSites(request);
    await slowDown(request, reply);
    const login = await store.findLogin(request.body.email);
    const matches = await passwordMatches(login?.passwordHash ?? (await nobody), request.body.password);
    if (login === undefined || !matches) throw new ApiError(401, 'E-mail or password is wrong.');
    return open(request, reply, login.member);
  });

  app.post('/sign-up', { schema: { body: signUpBody } }, async (request, reply) => {
    refuseOtherSites(request);
    if (!parts.signUp) throw new ApiError(403, 'Sign-up is switched off here. Ask the operator for an account.');
    await slowDown(request, reply);
    const { account, email, password } = request.body;
    const member = await store.signUp({ accountName: account, email, passwordHash: await hashPassword(password) });
    if (member === undefined) throw new ApiError(409, 'There is an account with this e-mail. Sign in instead.');
    return open(request, reply, member);
  });

  app.post('/sign-out', async (request, reply) => {
    refuseOtherSites(request);
    const id = sessionIdOf(request);
    if (id !== undefined) await store.closeSession(id);
    takeSession(request, reply);
    return { member: null, csrf: null, signUp: parts.signUp };
  });
}

function emailKey(request: FastifyRequest): string {
  const email = z.object({ email: emailSchema }).safeParse(request.body);
  return email.success ? `email ${email.data.email}` : `address ${request.ip}`;
}
