import type { FastifyReply } from 'fastify';
import type { Explanation } from '../../engine/explain.js';

/** The last moment of the deprecated pair: they are removed after 10 January 2027. */
const DEPRECATED_UNTIL = Date.UTC(2027, 0, 11) - 1000;

/** When their deprecation was announced, for RFC 9745's header: seconds of the epoch. */
const DEPRECATED_SINCE = Date.UTC(2026, 10, 21) / 1000;

const DEPRECATION = `@${DEPRECATED_SINCE}`;
const SUNSET = new Date(DEPRECATED_UNTIL).toUTCString();

/** Headers that a page of another origin may read. */
const READABLE = [
  ...['X-SVC-Router-Level', 'X-SVC-Model-Score', 'X-SVC-Model-Verdict', 'X-SVC-Supav4-Score', 'X-SVC-Supav4-Verdict'],
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After', 'Deprecation', 'Sunset'],
].join(', ');

const COMMON = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': READABLE,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

export function commonHeaders(reply: FastifyReply): FastifyReply {
  return reply.headers(COMMON);
}

export interface QuotaWindow {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** `RateLimit-*` of the draft: plain numbers, seconds until the window turns. */
export function quotaHeaders(reply: FastifyReply, quota: QuotaWindow): void {
  reply.headers({
    'ratelimit-limit': describeLimit(quota),
    'ratelimit-remaining': String(quota.remaining),
    'ratelimit-reset': String(quota.resetSeconds),
  });
}

function describeLimit({ limit, remaining }: QuotaWindow): string {
  return String(Math.max(limit, remaining));
}

const COMMON_HEAD: readonly string[] = Object.entries(COMMON).flat();
const DEPRECATION_HEAD: readonly string[] = ['deprecation', DEPRECATION, 'sunset', SUNSET];

/** The values in the headers of a verdict. `time`: of the call, milliseconds since 1970. */
export interface VerdictHead {
  readonly quota: QuotaWindow;
  readonly explanation: Explanation;
  readonly time: number;
}

/**
 * Sends a verdict: its quota, how it came about, and the deprecated pair as long as it lives. All headers at once and past
 * fastify's serialisation: most calls end here.
 */
export function sendVerdict(reply: FastifyReply, { quota, explanation, time }: VerdictHead, value: unknown): void {
  const body = JSON.stringify(value);
  const score = modelScore(explanation.model.score);
  const { verdict } = explanation.model;
  const head = [
    ...COMMON_HEAD,
    ...['ratelimit-limit', describeLimit(quota), 'ratelimit-remaining', String(quota.remaining)],
    ...['ratelimit-reset', String(quota.resetSeconds)],
    ...['x-svc-router-level', explanation.router_level, 'x-svc-model-score', score, 'x-svc-model-verdict', verdict],
  ];
  if (time <= DEPRECATED_UNTIL)
    head.push('x-svc-supav4-score', score, 'x-svc-supav4-verdict', verdict, ...DEPRECATION_HEAD);
  head.push('content-type', 'application/json', 'content-length', String(Buffer.byteLength(body)));
  reply.hijack();
  reply.raw.writeHead(200, head).end(body);
}

/** A decimal number with a point, never an exponent: `0.0`, `0.93`, `1.0`. */
function modelScore(score: number | null): string {
  if (score === null) return 'n/a';
  const text = score.toFixed(6).replace(/0+$/, '');
  return text.endsWith('.') ? `${text}0` : text;
}

/** Sends JSON that was written already. */
export function sendJsonText(reply: FastifyReply, text: string): FastifyReply {
  return reply.code(200).header('content-type', 'application/json').send(text);
}

/** Sends a value as `application/json`, the media type to the letter: JSON has no charset parameter (RFC 8259, 11). */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return reply.code(status).header('content-type', 'application/json').serializer(JSON.stringify).send(value);
}
