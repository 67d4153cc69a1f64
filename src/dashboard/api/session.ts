import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Store } from '../../store/store.js';
import type { Member as Membership } from '../../store/user-store.js';
import type { AccountName, Member, SessionAnswer } from '../ports.js';
import { type ApiApp, ApiError, type DashboardParts } from './api-parts.js';

const guardedName = '__Host-portcullis';
const plainName = 'portcullis_session';

/** How long a session lasts: 12 hours, in milliseconds. */
export const sessionLength: number = 12 * 3_600_000;

/** The token that a page must send with every change. Only who has the session's id can make it. */
export function csrfToken(id: string): string {
  return createHmac('sha256', id).update('portcullis csrf').digest('base64url');
}

/** True when `given` is the session's token; takes as long for a wrong one. */
export function csrfTokenFits(id: string, given: unknown): boolean {
  if (typeof given !== 'string') return false;
  const [want, have] = [csrfToken(id), given].map((text) => createHash('sha256').update(text).digest());
  return want !== undefined && have !== undefined && timingSafeEqual(want, have);
}

/** The session's id out of the request's cookie. */
export function sessionIdOf(request: FastifyRequest): string | undefined {
  return request.cookies[cookieIsGuarded(request) ? guardedName : plainName];
}

/** Gives the browser the session. `__Host-` and `Secure` wherever browsers take them. */
export function giveSession(request: FastifyRequest, reply: FastifyReply, id: string): void {
  const secure = cookieIsGuarded(request);
  if (!secure) request.log.warn('dashboard over plain http: the session cookie is sent in the clear; put TLS in front');
  reply.setCookie(secure ? guardedName : plainName, id, {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure,
    maxAge: sessionLength / 1000,
  });
}

/** Takes the session back. */
export function takeSession(request: FastifyRequest, reply: FastifyReply): void {
  const secure = cookieIsGuarded(request);
  reply.clearCookie(secure ? guardedName : plainName, { path: '/', httpOnly: true, sameSite: 'strict', secure });
}

/** Browsers take `Secure` cookies over https, and on the machine itself over http as well. */
function cookieIsGuarded(request: FastifyRequest): boolean {
  return request.protocol === 'https' || /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(request.host);
}

/** Signs a member in: makes the session and gives its cookie. */
export async function openSession(
  { store, now, signUp }: DashboardParts,
  request: FastifyRequest,
  reply: FastifyReply,
  member: Member,
): Promise<SessionAnswer> {
  const id = await store.sessions.create(member.id, member.accountId, now() + sessionLength);
  giveSession(request, reply, id);
  return { member, csrf: csrfToken(id), signUp, accounts: await accountsOf(store, member.id) };
}

/** The session that the request's cookie stands for. */
export async function sessionAnswer(
  { store, now, signUp }: DashboardParts,
  request: FastifyRequest,
): Promise<SessionAnswer> {
  const id = sessionIdOf(request);
  const member = id === undefined ? undefined : await sessionMember(store, id, now());
  if (id === undefined || member === undefined) return nobody(signUp);
  return { member, csrf: csrfToken(id), signUp, accounts: await accountsOf(store, member.id) };
}

/** The answer where nobody is signed in. */
export function nobody(signUp: boolean): SessionAnswer {
  return { member: null, csrf: null, signUp, accounts: [] };
}

declare module 'fastify' {
  interface FastifyRequest {
    dashboardMember: Member | null;
  }
}

const reading = new Set(['GET', 'HEAD']);

/** Lets only signed-in members in; a change needs the session's token, and an owner unless the route says `viewers`. */
export function guard(app: ApiApp, { store, now }: DashboardParts, viewersMayChange: readonly string[]): void {
  app.addHook('onRequest', async (request) => {
    const id = sessionIdOf(request);
    const member = id === undefined ? undefined : await sessionMember(store, id, now());
    if (id === undefined || member === undefined) throw new ApiError(401, 'Sign in first.');
    request.dashboardMember = member;
    if (reading.has(request.method)) return;
    if (!csrfTokenFits(id, request.headers['x-csrf-token']))
      throw new ApiError(403, 'The page is out of date. Reload it.');
    const route = request.routeOptions.url ?? '';
    if (member.role !== 'owner' && !viewersMayChange.some((end) => route.endsWith(end)))
      throw new ApiError(403, 'Only an owner of the account can do this.');
  });
}

/** Who is signed in. For routes behind the guard. */
export function memberOf(request: FastifyRequest): Member {
  if (request.dashboardMember === null) throw new ApiError(401, 'Sign in first.');
  return request.dashboardMember;
}

/** Refuses what another site's page sent, where there is no session yet that could prove it. */
export function refuseOtherSites(request: FastifyRequest): void {
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  const foreign = origin !== undefined && URL.canParse(origin) && new URL(origin).host !== request.host;
  if ((site !== undefined && site !== 'same-origin' && site !== 'none') || foreign || origin === 'null')
    throw new ApiError(403, 'This request came from another site.');
}

/** A membership as the page sees it. */
export function toMember({ userId, accountId, email, role }: Membership): Member {
  return { id: userId, accountId, email, role };
}

/** Who a session stands for, by the membership as it is now: a member who was removed has none. */
async function sessionMember(store: Store, token: string, now: number): Promise<Member | undefined> {
  const session = await store.sessions.find(token);
  if (session === undefined || session.expiresAt <= now) return undefined;
  const memberships = await store.users.memberships(session.userId);
  const membership = memberships.find(({ accountId }) => accountId === session.accountId);
  return membership && toMember(membership);
}

/** The accounts of a person, oldest first. */
async function accountsOf({ users, accounts }: Store, userId: string): Promise<readonly AccountName[]> {
  const memberships = await users.memberships(userId);
  return Promise.all(
    memberships.map(async ({ accountId: id }) => ({ id, name: (await accounts.get(id))?.name ?? id })),
  );
}
