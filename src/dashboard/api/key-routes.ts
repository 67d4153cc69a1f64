import { z } from 'zod';
import type { ApiKey } from '../../store/account-store.js';
import type { KeyListing } from '../ports.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { ApiError, orRefuse } from './api-parts.js';
import { getMember } from './sign-in/session.js';

const createBody = z.object({ name: z.string().trim().min(1, 'Give the key a name.').max(80) });
const params = z.object({ id: z.string().min(1).max(100) });
/** Up to 30 days. */
const rotateBody = z.object({ graceSeconds: z.int().min(0).max(2_592_000) });

/** Keys of the account. A secret is in one answer only, the one that made it. */
export function keyRoutes(app: ApiApp, { store, now }: DashboardParts): void {
  app.get('/keys', async (request) => ({
    keys: (await store.keys.list(getMember(request).accountId)).map(toListing),
    now: now(),
  }));
  app.post('/keys', { schema: { body: createBody } }, async (request) => {
    const { id, secret } = await store.keys.create(getMember(request).accountId, request.body.name);
    return { id, secret };
  });
  app.post('/keys/:id/rotate', { schema: { params, body: rotateBody } }, async (request) => {
    const { graceSeconds } = request.body;
    const { id, secret } = await orRefuse(
      'STORE_NOT_FOUND',
      new ApiError(404, 'There is no such key, or it is revoked.'),
      store.keys.rotate(getMember(request).accountId, request.params.id, graceSeconds),
    );
    return { id, secret };
  });
  app.post('/keys/:id/revoke', { schema: { params } }, async (request) => {
    await orRefuse(
      'STORE_NOT_FOUND',
      new ApiError(404, 'There is no such key.'),
      store.keys.revoke(getMember(request).accountId, request.params.id),
    );
    return { revoked: request.params.id };
  });
}

function toListing({ id, name, hint, createdAt, lastUsedAt, expiresAt, revokedAt }: ApiKey): KeyListing {
  return { id, name, hint, created: createdAt, lastUsed: lastUsedAt, ends: revokedAt ?? expiresAt };
}
