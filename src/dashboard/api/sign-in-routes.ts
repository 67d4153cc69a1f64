import { z } from 'zod';
import { hashPassword, passwordMatches } from '../../adapters/password-hash.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { ApiError, emailSchema, givenPasswordSchema, orRefuse, passwordSchema } from './api-parts.js';
import { countAttempts } from './attempts.js';
import { nobody, openSession, refuseOtherSites, sessionAnswer, sessionIdOf, takeSession, toMember } from './session.js';

const signInBody = z.object({ email: emailSchema, password: givenPasswordSchema });
const signUpBody = z.object({
  account: z.string().trim().min(1, 'Give the account a name.').max(80),
  email: emailSchema,
  password: passwordSchema,
});
const tokenBody = z.object({ token: z.string().min(1).max(200) });
const acceptBody = tokenBody.extend({ password: givenPasswordSchema });

const goneInvitation = (): ApiError =>
  new ApiError(404, 'This invitation was used, withdrawn or has expired. Ask for another one.');

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
    const user = await store.users.findByEmail(request.body.email);
    const matches = await passwordMatches(user?.passwordHash ?? (await stranger), request.body.password);
    const [membership] = user === undefined ? [] : await store.users.memberships(user.id);
    if (membership === undefined || !matches) throw new ApiError(401, 'E-mail or password is wrong.');
    return openSession(parts, request, reply, toMember(membership));
  });

  app.post('/sign-up', { schema: { body: signUpBody } }, async (request, reply) => {
    if (!parts.signUp) throw new ApiError(403, 'Sign-up is switched off here. Ask the operator for an account.');
    await attempt(request, reply);
    const { account, email, password } = request.body;
    const order = { accountName: account, email, passwordHash: await hashPassword(password), plan: 'trial' };
    const taken = new ApiError(409, 'There is an account with this e-mail. Sign in instead.');
    const member = await orRefuse('STORE_CONFLICT', taken, store.users.signUp(order));
    return openSession(parts, request, reply, toMember(member));
  });

  app.post('/sign-out', async (request, reply) => {
    const id = sessionIdOf(request);
    if (id !== undefined) await store.sessions.end(id);
    takeSession(request, reply);
    return nobody(parts.signUp);
  });

  const invited = async (token: string) => {
    const found = await store.users.findInvitation(token);
    if (found === undefined) throw goneInvitation();
    return { ...found, user: await store.users.findByEmail(found.email) };
  };
  app.post('/invitation/look', { schema: { body: tokenBody } }, async (request, reply) => {
    await attempt(request, reply);
    const { email, role, accountId, user } = await invited(request.body.token);
    const account = await store.accounts.get(accountId);
    return { email, role, accountName: account?.name ?? '', known: user !== undefined };
  });
  app.post('/invitation/accept', { schema: { body: acceptBody } }, async (request, reply) => {
    await attempt(request, reply);
    const { token, password } = request.body;
    const { user } = await invited(token);
    if (user !== undefined && !(await passwordMatches(user.passwordHash, password)))
      throw new ApiError(401, 'The password is wrong.');
    if (user === undefined && !passwordSchema.safeParse(password).success)
      throw new ApiError(400, 'Password: at least 10 characters.');
    const joined =
      user === undefined ? store.users.join(token, await hashPassword(password)) : store.users.accept(token, user.id);
    const member = await orRefuse('STORE_NOT_FOUND', goneInvitation(), joined);
    return openSession(parts, request, reply, toMember(member));
  });
}
