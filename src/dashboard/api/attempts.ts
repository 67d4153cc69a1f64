import rateLimit from '@fastify/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiApp } from './api-parts.js';
import { ApiError } from './api-parts.js';

const window = 10 * 60_000;

/** Counts an attempt at a password. @throws ApiError 429 after 30 from one address, or 8 at one name, in ten minutes */
export type CountAttempt = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** `nameOf` tells whose password a request tries; an undefined name counts by the address alone. */
export async function countAttempts(
  app: ApiApp,
  nameOf: (request: FastifyRequest) => string | undefined,
): Promise<CountAttempt> {
  if (!app.hasDecorator('createRateLimit')) await app.register(rateLimit, { global: false });
  const byAddress = app.createRateLimit({ max: 30, timeWindow: window });
  const byName = app.createRateLimit({
    max: 8,
    timeWindow: window,
    keyGenerator: (request) => nameOf(request) ?? `address ${request.ip}`,
  });
  return async (request, reply) => {
    for (const check of [byAddress, byName]) {
      const limit = await check(request);
      if (limit.isAllowed || !limit.isExceeded) continue;
      reply.header('Retry-After', String(limit.ttlInSeconds));
      throw new ApiError(429, 'Too many attempts. Wait ten minutes.');
    }
  };
}
