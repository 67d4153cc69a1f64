import { z } from 'zod';
import { hashPassword, passwordMatches } from '../../adapters/password-hash.js';
import { ApiError } from './api-error.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { countAttempts } from './attempts.js';
import { emailSchema, givenPasswordSchema, passwordSchema } from './credentials.js';
import { refuseOtherSites } from './guard.js';
import { nobody, openSession, sessionAnswer } from './open-session.js';
import { sessionIdOf, takeSession } from './session-cookie.js';

const signInBody = z.object({ email: emailSchema, password: givenPasswordSchema });
const signUpBody = z.object({
  account: z.string().trim().min(1, 'Give the account a name.').max(80),
  email: emailSchema,
  password: passwordSchema,
});
const tokenBody = z.object({ token: z.string().min(1).max(200) });
const acceptBody = tokenBody.extend({ password: givenPasswordSchema });

/** What needs no session: sign-in, sign-up, sign-out, who is signed in, and taking up an invitation. */
export async function signInRoutes(app: ApiApp, parts: DashboardParts): Promise<void> {
  const { store } = parts;
  const attempt = await countAttempts(app, (request) => {
    const named = z.object({ email: emailSchema }).safeParse(request.body);
    if (named.success) return `email ${named.data.email}`;
    const invited = tokenBody.safeParse(request.body);
    return invited.success ? `invitation ${invited.data.token}` : undefined;
  });
  // Compared with where there is no such member, so that the time taken doesn't tell which e-mails exist.
  const stranger = hashPassword('nobody has this password');
  app.addHook('onRequest', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseOtherSites(request);
  });

  app.get('/session', async (request) => sessionAnswer(parts, request));

  app.post('/sign-in', { schema: { body: signInBody } }, async (request, reply) => {
    await attempt(request, reply);
    const login = await store.findLogin(request.body.email);
    const matches = await passwordMatches(login?.passwordHash ?? (await stranger), request.body.password);
    if (login === undefined || !matches) throw new ApiError(401, 'E-mail or password is wrong.');
    return openSession(parts, request, reply, login.member);
  });

  app.post('/sign-up', { schema: { body: signUpBody } }, async (request, reply) => {
    if (!parts.signUp) throw new ApiError(403, 'Sign-up is switched off here. Ask the operator for an account.');
    await attempt(request, reply);
    const { account, email, password } = request.body;
    const member = await store.signUp({ accountName: account, email, passwordHash: await hashPassword(password) });
    if (member === undefined) throw new ApiError(409, 'There is an account with this e-mail. Sign in instead.');
    return openSession(parts, request, reply, member);
  });

  app.post('/sign-out', async (request, reply) => {
    const id = sessionIdOf(request);
    if (id !== undefined) await store.closeSession(id);
    takeSession(request, reply);
    return nobody(parts.signUp);
  });

  const invited = async (token: string) => {
    const found = await store.findInvitation(token);
    if (found === undefined)
      throw new ApiError(404, 'This invitation is used up, withdrawn or too old. Ask for another one.');
    return found;
  };
  app.post('/invitation/look', { schema: { body: tokenBody } }, async (request, reply) => {
    await attempt(request, reply);
    const { email, role, accountName, passwordHash } = await invited(request.body.token);
    return { email, role, accountName, known: passwordHash !== undefined };
  });
  app.post('/invitation/accept', { schema: { body: acceptBody } }, async (request, reply) => {
    await attempt(request, reply);
    const { token, password } = request.body;
    const { passwordHash } = await invited(token);
    if (passwordHash !== undefined && !(await passwordMatches(passwordHash, password)))
      throw new ApiError(401, 'The password is wrong.');
    if (passwordHash === undefined && !passwordSchema.safeParse(password).success)
      throw new ApiError(400, 'password: At least 10 characters.');
    const fresh = passwordHash === undefined ? await hashPassword(password) : undefined;
    const member = await store.acceptInvitation(token, fresh);
    if (member === undefined) throw new ApiError(404, 'This invitation was used up meanwhile.');
    return openSession(parts, request, reply, member);
  });
}
