import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Member, SessionAnswer } from '../ports.js';
import type { DashboardParts } from './api-parts.js';
import { csrfToken, giveSession, sessionIdOf, sessionLength } from './session-cookie.js';

/** Signs a member in: makes the session and gives its cookie. */
export async function openSession(
  { store, now, signUp }: DashboardParts,
  request: FastifyRequest,
  reply: FastifyReply,
  member: Member,
): Promise<SessionAnswer> {
  const id = await store.openSession(member, now() + sessionLength);
  giveSession(request, reply, id);
  return { member, csrf: csrfToken(id), signUp, accounts: await store.accountsOf(member.id) };
}

/** The session that the request's cookie stands for. */
export async function sessionAnswer(
  { store, now, signUp }: DashboardParts,
  request: FastifyRequest,
): Promise<SessionAnswer> {
  const id = sessionIdOf(request);
  const session = id === undefined ? undefined : await store.findSession(id);
  if (id === undefined || session === undefined || session.expires <= now()) return nobody(signUp);
  const { member } = session;
  return { member, csrf: csrfToken(id), signUp, accounts: await store.accountsOf(member.id) };
}

/** The answer where nobody is signed in. */
export function nobody(signUp: boolean): SessionAnswer {
  return { member: null, csrf: null, signUp, accounts: [] };
}
