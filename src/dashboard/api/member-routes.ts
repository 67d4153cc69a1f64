import { z } from 'zod';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { ApiError, emailSchema, givenPasswordSchema, orRefuse, passwordSchema } from './api-parts.js';
import { beginAttempt } from './sign-in/attempts.js';
import { hashPassword, passwordMatches } from './sign-in/password-hash.js';
import { getMember, openSession, readSessionId, sessionResponse } from './sign-in/session.js';

const roleSchema = z.enum(['owner', 'analyst', 'viewer']);
const inviteBody = z.object({ email: emailSchema, role: roleSchema });
const params = z.object({ id: z.string().min(1).max(100) });
const passwordBody = z.object({ current: givenPasswordSchema, next: passwordSchema });
const accountBody = z.object({ accountId: z.string().min(1).max(100) });
const INVITATION_LENGTH = 7 * 86_400_000;
/** Invitations of an account that wait to be taken up. */
const MOST_INVITATIONS = 100;
const LAST_OWNER = 'There is no such member, or it is the last owner.';

/** Members, invitations, and one's own password and account. */
export async function memberRoutes(app: ApiApp, parts: DashboardParts): Promise<void> {
  const { store, now } = parts;

  const requireMember = async (accountId: string, id: string): Promise<void> => {
    const members = await store.users.members(accountId);
    if (!members.some(({ userId }) => userId === id)) throw new ApiError(404, LAST_OWNER);
  };

  app.put('/members/:id', { schema: { params, body: z.object({ role: roleSchema }) } }, async (request) => {
    const { accountId } = getMember(request);
    await requireMember(accountId, request.params.id);
    const changed = store.users.setMember(accountId, request.params.id, request.body.role);
    await orRefuse('STORE_CONFLICT', new ApiError(404, LAST_OWNER), changed);
    return { role: request.body.role };
  });
  app.delete('/members/:id', { schema: { params } }, async (request) => {
    const { accountId } = getMember(request);
    await requireMember(accountId, request.params.id);
    const removed = store.users.removeMember(accountId, request.params.id);
    await orRefuse('STORE_CONFLICT', new ApiError(404, LAST_OWNER), removed);
    return { removed: request.params.id };
  });

  app.post('/invitations', { schema: { body: inviteBody } }, async (request) => {
    const { email, role } = request.body;
    const { accountId } = getMember(request);
    if ((await store.users.members(accountId)).some((member) => member.email === email))
      throw new ApiError(409, 'They are already a member.');
    if ((await store.users.invitations(accountId)).length >= MOST_INVITATIONS)
      throw new ApiError(409, `At most ${MOST_INVITATIONS} pending invitations are allowed. Withdraw one first.`);
    const ends = now() + INVITATION_LENGTH;
    return { token: (await store.users.invite(accountId, email, role, ends)).token, ends };
  });
  app.delete('/invitations/:id', { schema: { params } }, async (request) => {
    await store.users.withdrawInvitation(getMember(request).accountId, request.params.id);
    return { withdrawn: request.params.id };
  });

  app.put('/password', { schema: { body: passwordBody } }, async (request, reply) => {
    const member = getMember(request);
    const attempt = await beginAttempt(store.attempts, { request, reply }, `user ${member.id}`, true);
    const { current, next } = request.body;
    const user = await store.users.get(member.id);
    if (user === undefined || !(await passwordMatches(user.passwordHash, current)))
      throw new ApiError(403, 'The current password is wrong.');
    await attempt.right();
    await store.users.setPassword(member.id, await hashPassword(next));
    // Every session has ended, this one too: here is another.
    return openSession(parts, request, reply, member);
  });
  app.put('/session/account', { schema: { body: accountBody } }, async (request) => {
    const { accountId } = request.body;
    const memberships = await store.users.memberships(getMember(request).id);
    if (!memberships.some((it) => it.accountId === accountId))
      throw new ApiError(404, 'You are not a member of this account.');
    await store.sessions.switchAccount(readSessionId(request) ?? '', accountId);
    return sessionResponse(parts, request);
  });
}
