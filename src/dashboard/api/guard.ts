import type { FastifyRequest } from 'fastify';
import type { Member } from '../ports.js';
import { ApiError } from './api-error.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { csrfTokenFits, sessionIdOf } from './session-cookie.js';

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
    const session = id === undefined ? undefined : await store.findSession(id);
    if (id === undefined || session === undefined || session.expires <= now())
      throw new ApiError(401, 'Sign in first.');
    request.dashboardMember = session.member;
    if (reading.has(request.method)) return;
    if (!csrfTokenFits(id, request.headers['x-csrf-token']))
      throw new ApiError(403, 'The page is out of date. Reload it.');
    const route = request.routeOptions.url ?? '';
    if (session.member.role !== 'owner' && !viewersMayChange.some((end) => route.endsWith(end)))
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
