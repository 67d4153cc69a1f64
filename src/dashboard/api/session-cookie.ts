import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

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
