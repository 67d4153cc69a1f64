import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.js';

const MISSING = 'The API key is missing: send it as `Authorization: Bearer <API_KEY>`.';

/**
 * The key of a request. Node keeps the first of several `Authorization` headers, a proxy may keep the last: two of
 * them name two callers, so neither is believed.
 *
 * @throws HttpError 401
 */
export function bearerKey(request: IncomingMessage): string {
  const { authorization } = request.headers;
  if (authorization === undefined) throw new HttpError(401, MISSING);
  let seen = 0;
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at];
    if (name?.length === 13 && name.toLowerCase() === 'authorization') seen++;
  }
  if (seen > 1) throw new HttpError(401, 'Several `Authorization` headers were sent; send one.');
  const key = /^bearer +(\S+)$/i.exec(authorization)?.[1];
  if (key === undefined) throw new HttpError(401, MISSING);
  return key;
}
