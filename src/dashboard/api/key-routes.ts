import { z } from 'zod';
import { ApiError } from './api-error.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { memberOf } from './guard.js';

const createBody = z.object({ name: z.string().trim().min(1, 'Give the key a name.').max(80) });
const params = z.object({ id: z.string().min(1).max(100) });
/** Up to 30 days. */
const rotateBody = z.object({ graceSeconds: z.int().min(0).max(2_592_000) });

/** Keys of the account. A secret is in one answer only, the one that made it. */
export function keyRoutes(app: ApiApp, { store, now }: DashboardParts): void {
  app.get('/keys', async (request) => ({ keys: await store.keys(memberOf(request).accountId), now: now() }));
  app.post('/keys', { schema: { body: createBody } }, async (request) =>
    store.createKey(memberOf(request).accountId, request.body.name),
  );
  app.post('/keys/:id/rotate', { schema: { params, body: rotateBody } }, async (request) => {
    const { graceSeconds } = request.body;
    const key = await store.rotateKey(memberOf(request).accountId, request.params.id, graceSeconds);
    if (key === undefined) throw new ApiError(404, 'There is no such key, or it is revoked.');
    return key;
  });
  app.post('/keys/:id/revoke', { schema: { params } }, async (request) => {
    if (!(await store.revokeKey(memberOf(request).accountId, request.params.id)))
      throw new ApiError(404, 'There is no such key.');
    return { revoked: request.params.id };
  });
}
