import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { whenClosed } from '../../../adapters/when-closed.js';
import { createKeyedLimit } from '../../../engine/limit.js';
import type { Store } from '../../../store/store.js';
import type { Member as Membership } from '../../../store/user-store.js';
import type { AccountName, Member, Role, SessionResponse } from '../../ports.js';
import { type ApiApp, ApiError, type DashboardParts } from '../api-parts.js';

const names = {
  session: { guarded: '__Host-portcullis', plain: 'portcullis_session' },
  device: { guarded: '__Host-portcullis-device', plain: 'portcullis_device' },
} as const;
const DEVICE_SECONDS = 365 * 86_400;

/** Time that a session lasts, milliseconds. */
const SESSION_LENGTH: number = 12 * 3_600_000;

/** The token that a page must send with every change. Only who has the session's id can make it. */
function csrfToken(id: string): string {
  return createHmac('sha256', id).update('portcullis csrf').digest('base64url');
}

/** True when `given` is the session's token; takes as long for a wrong one. */
function csrfTokenFits(id: string, given: unknown): boolean {
  if (typeof given !== 'string') return false;
  const [want, have] = [csrfToken(id), given].map((text) => hash('sha256', text, 'buffer'));
  return want !== undefined && have !== undefined && timingSafeEqual(want, have);
}

/** The session's id out of the request's cookie. */
export function readSessionId(request: FastifyRequest): string | undefined {
  return readCookie(request, 'session');
}

/** The token of the browser, if somebody signed in from it before. */
export function readDevice(request: FastifyRequest): string | undefined {
  return readCookie(request, 'device');
}

export function takeSession(request: FastifyRequest, reply: FastifyReply): void {
  giveCookie(request, reply, 'session', '', 0);
}

function readCookie(request: FastifyRequest, name: keyof typeof names): string | undefined {
  return request.cookies[names[name][request.dashboardSecure ? 'guarded' : 'plain']];
}

/** `__Host-` and `Secure` wherever browsers accept them. */
function giveCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  name: keyof typeof names,
  value: string,
  maxAge: number,
): void {
  const secure = request.dashboardSecure;
  const options = { path: '/', httpOnly: true, sameSite: 'strict', secure, maxAge } as const;
  reply.setCookie(names[name][secure ? 'guarded' : 'plain'], value, options);
}

/**
 * Notes of each request whether its cookies are `Secure`: browsers take those over https, and on the machine itself over
 * http as well. Behind TLS that another server ends, `publicUrl` says so, or a trusted proxy's `X-Forwarded-Proto`.
 */
export function noteSecurity(app: ApiApp, publicUrl: string | undefined): void {
  app.decorateRequest('dashboardSecure', false);
  app.addHook('onRequest', async (request) => {
    request.dashboardSecure =
      publicUrl?.startsWith('https:') === true ||
      request.protocol === 'https' ||
      /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(request.host);
  });
}

/** Signs a member in: makes the session and gives its cookie. */
export async function openSession(
  { store, now, signUp }: DashboardParts,
  request: FastifyRequest,
  reply: FastifyReply,
  member: Member,
): Promise<SessionResponse> {
  const id = await store.sessions.create(member.id, member.accountId, now() + SESSION_LENGTH);
  if (!request.dashboardSecure)
    request.log.warn('dashboard over plain http: the session cookie is sent in the clear; put TLS in front');
  giveCookie(request, reply, 'session', id, SESSION_LENGTH / 1000);
  const device = readDevice(request);
  if (device === undefined || (await store.devices.find(device)) !== member.id)
    giveCookie(request, reply, 'device', await store.devices.create(member.id), DEVICE_SECONDS);
  return { member, csrf: csrfToken(id), signUp, accounts: await listAccounts(store, member.id) };
}

/** The session that the request's cookie stands for. */
export async function sessionResponse(
  { store, now, signUp }: DashboardParts,
  request: FastifyRequest,
): Promise<SessionResponse> {
  const id = readSessionId(request);
  const member = id === undefined ? undefined : await sessionMember(store, id, now());
  if (id === undefined || member === undefined) return nobody(signUp);
  return { member, csrf: csrfToken(id), signUp, accounts: await listAccounts(store, member.id) };
}

export function nobody(signUp: boolean): SessionResponse {
  return { member: null, csrf: null, signUp, accounts: [] };
}

declare module 'fastify' {
  interface FastifyRequest {
    dashboardMember: Member | null;
    /** Whether cookies are `Secure`. */
    dashboardSecure: boolean;
  }
}

const READING = new Set(['GET', 'HEAD']);

/** Changes that somebody less than an owner may make, by the end of the route. All others are for owners. */
const LEAST_ROLES: readonly (readonly [end: string, least: 'viewer' | 'analyst'])[] = [
  ['/playground', 'viewer'],
  ['/replay', 'viewer'],
  ['/password', 'viewer'],
  ['/session/account', 'viewer'],
  ['/second-factor', 'viewer'],
  ['/second-factor/confirm', 'viewer'],
  ['/second-factor/remove', 'viewer'],
  ['/label', 'analyst'],
  ['/overlay/draft', 'analyst'],
  ['/overlay/preview', 'analyst'],
];

/** Lists for owners alone, by the end of the route: who did what, and URLs that may hold a secret. */
const OWNERS_READ: readonly string[] = ['/audit', '/audit/export', '/webhooks'];

const RANKS: readonly Role[] = ['viewer', 'analyst', 'owner'];

/** Concurrent requests of one account. */
const MOST_AT_ONCE = 16;

/**
 * Lets only signed-in members in, so many of an account at once; a change needs the session's token, and an owner unless
 * `leastRoles` says otherwise.
 */
export function guard(app: ApiApp, { store, now }: DashboardParts): void {
  const underWay = createKeyedLimit(MOST_AT_ONCE);
  app.addHook('onRequest', async (request, reply) => {
    const id = readSessionId(request);
    const member = id === undefined ? undefined : await sessionMember(store, id, now());
    if (id === undefined || member === undefined) throw new ApiError(401, 'Sign in first.');
    request.dashboardMember = member;
    const leave = underWay.enter(member.accountId);
    if (leave === undefined)
      throw new ApiError(503, 'Too many requests of this account are in progress; try again in a moment.');
    whenClosed(reply.raw, leave);
    if (reply.raw.destroyed) throw new ApiError(503, 'The client is gone.');
    const route = request.routeOptions.url ?? '';
    if (READING.has(request.method)) {
      if (member.role === 'owner' || !OWNERS_READ.some((end) => route.endsWith(end))) return;
      throw new ApiError(403, 'Only an owner of the account can see this.');
    }
    if (!csrfTokenFits(id, request.headers['x-csrf-token']))
      throw new ApiError(403, 'The page is out of date. Reload it.');
    const least = LEAST_ROLES.find(([end]) => route.endsWith(end))?.[1] ?? 'owner';
    if (RANKS.indexOf(member.role) >= RANKS.indexOf(least)) return;
    throw new ApiError(403, `Only an owner${least === 'analyst' ? ' or analyst' : ''} of the account can do this.`);
  });
}

/** Returns the member who is signed in. For routes that require sign-in. */
export function getMember(request: FastifyRequest): Member {
  if (request.dashboardMember === null) throw new ApiError(401, 'Sign in first.');
  return request.dashboardMember;
}

/** Refuses what another site's page sent, where there is no session yet that could prove it. */
export function refuseOtherSites(request: FastifyRequest, publicUrl: string | undefined): void {
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  const host = origin !== undefined && URL.canParse(origin) ? new URL(origin).host : undefined;
  const own = publicUrl === undefined ? undefined : new URL(publicUrl).host;
  const foreign = host !== undefined && host !== request.host && host !== own;
  if ((site !== undefined && site !== 'same-origin' && site !== 'none') || foreign || origin === 'null')
    throw new ApiError(403, 'This request came from another site.');
}

export function toMember({ userId, accountId, email, role }: Membership): Member {
  return { id: userId, accountId, email, role };
}

/** Finds the member of a session, by the membership as it is now: a member who was removed has none. */
async function sessionMember(store: Store, token: string, now: number): Promise<Member | undefined> {
  const session = await store.sessions.find(token);
  if (session === undefined || session.expiresAt <= now) return undefined;
  const memberships = await store.users.memberships(session.userId);
  const membership = memberships.find(({ accountId }) => accountId === session.accountId);
  return membership && toMember(membership);
}

async function listAccounts({ users, accounts }: Store, userId: string): Promise<readonly AccountName[]> {
  const memberships = await users.memberships(userId);
  return Promise.all(
    memberships.map(async ({ accountId: id }) => ({ id, name: (await accounts.get(id))?.name ?? id })),
  );
}
