import { z } from 'zod';
import { hashPassword, passwordMatches } from '../../adapters/password-hash.js';
import { ApiError } from './api-error.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { countAttempts } from './attempts.js';
import { emailSchema, givenPasswordSchema, passwordSchema } from './credentials.js';
import { memberOf } from './guard.js';
import { openSession, sessionAnswer } from './open-session.js';
import { sessionIdOf } from './session-cookie.js';

const roleSchema = z.enum(['owner', 'viewer']);
const inviteBody = z.object({ email: emailSchema, role: roleSchema });
const params = z.object({ id: z.string().min(1).max(100) });
const passwordBody = z.object({ current: givenPasswordSchema, next: passwordSchema });
const accountBody = z.object({ accountId: z.string().min(1).max(100) });
const invitationLength = 7 * 86_400_000;
const lastOwner = 'There is no such member, or it is the last owner.';

/** Members, invitations, and one's own password and account. */
export async function memberRoutes(app: ApiApp, parts: DashboardParts): Promise<void> {
  const { store, now } = parts;
  const attempt = await countAttempts(app, (request) => `user ${request.dashboardMember?.id}`);

  app.put('/members/:id', { schema: { params, body: z.object({ role: roleSchema }) } }, async (request) => {
    const { accountId } = memberOf(request);
    if (!(await store.setRole(accountId, request.params.id, request.body.role))) throw new ApiError(404, lastOwner);
    return { role: request.body.role };
  });
  app.delete('/members/:id', { schema: { params } }, async (request) => {
    if (!(await store.removeMember(memberOf(request).accountId, request.params.id))) throw new ApiError(404, lastOwner);
    return { removed: request.params.id };
  });

  app.post('/invitations', { schema: { body: inviteBody } }, async (request) => {
    const { email, role } = request.body;
    const { accountId } = memberOf(request);
    if ((await store.members(accountId)).some((member) => member.email === email))
      throw new ApiError(409, 'They are a member already.');
    const ends = now() + invitationLength;
    return { token: await store.invite(accountId, email, role, ends), ends };
  });
  app.delete('/invitations/:id', { schema: { params } }, async (request) => {
    await store.withdrawInvitation(memberOf(request).accountId, request.params.id);
    return { withdrawn: request.params.id };
  });

  app.put('/password', { schema: { body: passwordBody } }, async (request, reply) => {
    await attempt(request, reply);
    const member = memberOf(request);
    const { current, next } = request.body;
    const login = await store.findLogin(member.email);
    if (login === undefined || !(await passwordMatches(login.passwordHash, current)))
      throw new ApiError(403, 'The current password is wrong.');
    await store.setPassword(member.id, await hashPassword(next));
    // Every session has ended, this one too: here is another.
    return openSession(parts, request, reply, member);
  });
  app.put('/session/account', { schema: { body: accountBody } }, async (request) => {
    const id = sessionIdOf(request) ?? '';
    if (!(await store.switchAccount(id, memberOf(request).id, request.body.accountId)))
      throw new ApiError(404, 'You are no member of such an account.');
    return sessionAnswer(parts, request);
  });
}
