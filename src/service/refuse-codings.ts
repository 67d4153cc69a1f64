import type { FastifyRequest, preParsingHookHandler } from 'fastify';
import { HttpError } from './http-error.js';

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/** A compressed body, or one in another charset than JSON's: screened as it is, it wouldn't be what was meant. */
export const refuseCodings: preParsingHookHandler = (request, reply, payload, done) => {
  const error = codingProblem(request);
  if (error !== undefined) reply.header('accept-encoding', 'identity');
  done(error ?? null, payload);
};

function codingProblem({ headers }: FastifyRequest): HttpError | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase();
  if (coding !== undefined && coding !== '' && coding !== 'identity')
    return new HttpError(415, 'The body has a `Content-Encoding`; send it as it is.');
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  if (charset !== undefined && !/^(utf-?8|us-ascii)$/.test(charset))
    return new HttpError(415, 'The body must be UTF-8, as all JSON is.');
  return undefined;
}
