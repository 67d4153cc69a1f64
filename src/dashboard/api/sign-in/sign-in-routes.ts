import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { emailAttempts, type User } from '../../../store/user-store.js';
import type { ApiApp, DashboardParts } from '../api-parts.js';
import { ApiError, emailSchema, givenPasswordSchema, orRefuse, passwordSchema } from '../api-parts.js';
import { type Attempt, beginAttempt } from './attempts.js';
import { hashPassword, passwordMatches } from './password-hash.js';
import { codeSchema, requireCode } from './second-factor.js';
import {
  nobody,
  openSession,
  readDevice,
  readSessionId,
  refuseOtherSites,
  sessionResponse,
  takeSession,
  toMember,
} from './session.js';

const signInBody = z.object({ email: emailSchema, password: givenPasswordSchema, code: codeSchema.optional() });
const signUpBody = z.object({
  account: z.string().trim().min(1, 'Give the account a name.').max(80),
  email: emailSchema,
  password: passwordSchema,
});
const tokenBody = z.object({ token: z.string().min(1).max(200) });
const acceptBody = tokenBody.extend({
  password: givenPasswordSchema,
  code: codeSchema.optional(),
  /** `member`: somebody who has a password here. `new`: it becomes the password of somebody who hasn't. */
  as: z.enum(['new', 'member']).default('new'),
});

const wrongPassword = (): ApiError => new ApiError(401, 'E-mail or password is wrong.');
const goneInvitation = (): ApiError =>
  new ApiError(404, 'This invitation was used, withdrawn or has expired. Ask for another one.');

/** Finds the user of the e-mail whose password it is, and counts the attempt. @throws ApiError 401, 429 */
type FindUser = (
  call: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  credentials: { readonly email: string; readonly password: string; readonly code?: string | undefined },
) => Promise<{ readonly user: User; readonly attempt: Attempt }>;

function userByPassword({ store, now }: DashboardParts): FindUser {
  // Compared with where there is no such member, so that the time taken doesn't tell which e-mails exist.
  const stranger = hashPassword('nobody has this password');

  /** Finds the user whose device the request comes from, where it is one of the users'. */
  const knownDevice = async (request: FastifyRequest, users: readonly User[]): Promise<string | undefined> => {
    const token = readDevice(request);
    const owner = token === undefined ? undefined : await store.devices.find(token);
    return users.some(({ id }) => id === owner) ? `device ${token}` : undefined;
  };

  return async (call, { email, password, code }) => {
    const users = await store.users.allByEmail(email);
    const device = await knownDevice(call.request, users);
    const person = device ?? emailAttempts(email);
    const attempt = await beginAttempt(store.attempts, call, person, device !== undefined);
    const hashes = users.length === 0 ? [await stranger] : users.map(({ passwordHash }) => passwordHash);
    const matches = await Promise.all(hashes.map((hash) => passwordMatches(hash, password)));
    const [user, ...others] = users.filter((_, at) => matches[at]);
    if (user === undefined) throw wrongPassword();
    // Before they become one: a second factor of any of them counts. A wrong code counts as a failed attempt.
    for (const { id } of [user, ...others]) await requireCode(store, id, code, now());
    // Who knows the password of each is one person: they joined by an invitation as somebody new.
    if (others.length > 0)
      await store.users.merge(
        user.id,
        others.map(({ id }) => id),
      );
    return { user, attempt };
  };
}

/** Routes that need no session: sign-in, sign-up, sign-out, who is signed in, and taking up an invitation. */
export async function signInRoutes(app: ApiApp, parts: DashboardParts): Promise<void> {
  const { store } = parts;
  const findUser = userByPassword(parts);
  app.addHook('onRequest', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseOtherSites(request, parts.publicUrl);
  });

  app.get('/session', async (request) => sessionResponse(parts, request));

  app.post('/sign-in', { schema: { body: signInBody } }, async (request, reply) => {
    const { user, attempt } = await findUser({ request, reply }, request.body);
    const memberships = await store.users.memberships(user.id);
    const membership = memberships.find(({ accountId }) => accountId === user.lastAccountId) ?? memberships[0];
    if (membership === undefined) throw wrongPassword();
    await attempt.right();
    const { accountId, email } = membership;
    await store.audit.add({ accountId, actor: email, action: 'session.sign-in', target: '', detail: {} });
    return openSession(parts, request, reply, toMember(membership));
  });

  app.post('/sign-up', { schema: { body: signUpBody } }, async (request, reply) => {
    if (!parts.signUp) throw new ApiError(403, 'Sign-up is switched off here. Ask the operator for an account.');
    const { account, email, password } = request.body;
    // Each counts: an answer tells whether there is such a user.
    await beginAttempt(store.attempts, { request, reply }, emailAttempts(email), false);
    const order = { accountName: account, email, passwordHash: await hashPassword(password), plan: 'trial' };
    const taken = new ApiError(409, 'There is an account with this e-mail. Sign in instead.');
    const member = await orRefuse('STORE_CONFLICT', taken, store.users.signUp(order));
    return openSession(parts, request, reply, toMember(member));
  });

  app.post('/sign-out', async (request, reply) => {
    const id = readSessionId(request);
    if (id !== undefined) await store.sessions.end(id);
    takeSession(request, reply);
    return nobody(parts.signUp);
  });

  invitationRoutes(app, parts, findUser);
}

function invitationRoutes(app: ApiApp, parts: DashboardParts, findUser: FindUser): void {
  const { store } = parts;
  const invited = async (token: string) => {
    const found = await store.users.findInvitation(token);
    if (found === undefined) throw goneInvitation();
    return found;
  };
  app.post('/invitation/look', { schema: { body: tokenBody } }, async (request) => {
    const { email, role, accountId } = await invited(request.body.token);
    // Nothing of whether the e-mail has a user: who has the link needn't be its owner.
    return { email, role, accountName: (await store.accounts.get(accountId))?.name ?? '' };
  });
  app.post('/invitation/accept', { schema: { body: acceptBody } }, async (request, reply) => {
    const { token, password, code, as } = request.body;
    const { email } = await invited(token);
    if (as === 'member') {
      const { user, attempt } = await findUser({ request, reply }, { email, password, code });
      const member = await orRefuse('STORE_NOT_FOUND', goneInvitation(), store.users.accept(token, user.id));
      await attempt.right();
      return openSession(parts, request, reply, toMember(member));
    }
    if (!passwordSchema.safeParse(password).success) throw new ApiError(400, 'Password: at least 10 characters.');
    // Somebody of their own, whatever users the e-mail has: its owner isn't the one who has the link until they sign in.
    const joined = orRefuse('STORE_NOT_FOUND', goneInvitation(), store.users.join(token, await hashPassword(password)));
    const again = new ApiError(409, 'You joined this account before: use the password that you chose then.');
    const member = await orRefuse('STORE_CONFLICT', again, joined);
    return openSession(parts, request, reply, toMember(member));
  });
}
