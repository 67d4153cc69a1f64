import type { FastifyReply } from 'fastify';
import type { Explanation } from '../../index.js';

/** The last moment of the deprecated pair: they are removed after 10 January 2027. */
const DEPRECATED_UNTIL = Date.UTC(2027, 0, 11) - 1000;

/** When their deprecation was announced, for RFC 9745's header: seconds of the epoch. */
const DEPRECATED_SINCE = Date.UTC(2026, 10, 21) / 1000;

const DEPRECATION = `@${DEPRECATED_SINCE}`;
const SUNSET = new Date(DEPRECATED_UNTIL).toUTCString();

/** What a page of another origin may read beside the body. */
const READABLE = [
  ...['X-SVC-Router-Level', 'X-SVC-Model-Score', 'X-SVC-Model-Verdict', 'X-SVC-Supav4-Score', 'X-SVC-Supav4-Verdict'],
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After', 'Deprecation', 'Sunset'],
].join(', ');

/** The headers of every answer. */
export function commonHeaders(reply: FastifyReply): FastifyReply {
  return reply
    .header('access-control-allow-origin', '*')
    .header('access-control-expose-headers', READABLE)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff');
}

/** The quota window of an account. */
export interface QuotaWindow {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** `RateLimit-*` of the draft: plain numbers, seconds until the window turns. */
export function quotaHeaders(reply: FastifyReply, quota: QuotaWindow): void {
  reply.header('ratelimit-limit', String(Math.max(quota.limit, quota.remaining)));
  reply.header('ratelimit-remaining', String(quota.remaining));
  reply.header('ratelimit-reset', String(quota.resetSeconds));
}

/** How the verdict came about, with the deprecated pair as long as it lives. */
export function verdictHeaders(reply: FastifyReply, explanation: Explanation, time: number): void {
  const score = modelScore(explanation.model.score);
  const { verdict } = explanation.model;
  reply.header('x-svc-router-level', explanation.router_level);
  reply.header('x-svc-model-score', score);
  reply.header('x-svc-model-verdict', verdict);
  if (time > DEPRECATED_UNTIL) return;
  reply.header('x-svc-supav4-score', score);
  reply.header('x-svc-supav4-verdict', verdict);
  reply.header('deprecation', DEPRECATION);
  reply.header('sunset', SUNSET);
}

/** A decimal number with a point, never an exponent: `0.0`, `0.93`, `1.0`. */
function modelScore(score: number | null): string {
  if (score === null) return 'n/a';
  const text = score.toFixed(6).replace(/0+$/, '');
  return text.endsWith('.') ? `${text}0` : text;
}

/** Sends a value as `application/json`, the media type to the letter: JSON has no charset parameter (RFC 8259, 11). */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return reply.code(status).header('content-type', 'application/json').serializer(JSON.stringify).send(value);
}
