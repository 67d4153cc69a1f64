import { z } from 'zod';
import type { ApiKey } from '../../store/account-store.js';
import { toListedOrder } from '../billing/billing.js';
import type { KeyListing } from '../ports.js';
import { type ApiApp, ApiError, type DashboardParts, orRefuse } from './api-parts.js';
import { accountState, toPlanListing } from './overview-routes.js';
import { getMember, sessionResponse, toMember } from './sign-in/session.js';

const accountBody = z.object({ name: z.string().trim().min(1, 'Give the account a name.').max(80) });
const settingsBody = z.object({
  keep: z.enum(['whole', 'masked', 'hash']),
  retentionDays: z.int().min(1).max(3650),
  verdictForm: z.enum(['extended', 'minimal']),
});
const orderBody = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('plan'), plan: z.string().min(1).max(80) }),
  z.object({ kind: z.literal('overage'), packs: z.int().min(1).max(100) }),
]);

const orderParams = z.object({ id: z.string().min(1).max(100) });

export function planRoutes(app: ApiApp, { store, billing, now }: DashboardParts): void {
  app.get('/plan', async (request) => {
    const { accountId } = getMember(request);
    const [account, months, placed] = await Promise.all([
      accountState(store, accountId, now()),
      store.usage.months(accountId, 24),
      store.orders.list(accountId),
    ]);
    const { overagePackCalls } = store.plans;
    const usage = months.map(({ month, used, overageUsed }) => ({ month, calls: used + overageUsed }));
    const plans = store.plans.all.map(toPlanListing);
    const onSale = plans.filter(({ id, trialDays }) => trialDays === null && billing.sells({ kind: 'plan', plan: id }));
    return {
      ...{ account, usage, plans, overagePackCalls, payment: billing.payment, now: now() },
      orders: placed.map(toListedOrder),
      onSale: onSale.map(({ id }) => id),
    };
  });
  app.post('/orders', { schema: { body: orderBody } }, async (request) => {
    const { accountId, email } = getMember(request);
    const purchase = request.body;
    if (purchase.kind === 'plan') {
      const plan = store.plans.all.find(({ name }) => name === purchase.plan);
      if (plan === undefined) throw new ApiError(404, 'There is no such plan.');
      if (plan.trialDays !== null) throw new ApiError(409, 'A trial cannot be ordered.');
    }
    if (!billing.sells(purchase)) throw new ApiError(409, 'This is not on sale here. Ask the operator.');
    return billing.order(accountId, purchase, email);
  });

  app.post('/orders/:id/cancel', { schema: { params: orderParams } }, async (request) => {
    const { id } = request.params;
    const order = await store.orders.get(id);
    if (order?.accountId !== getMember(request).accountId) throw new ApiError(404, 'There is no such order.');
    if ((await store.orders.settle(id, 'rejected')).status !== 'rejected')
      throw new ApiError(409, 'The order has already been carried out.');
    return { cancelled: id };
  });
}

export function accountRoutes(app: ApiApp, parts: DashboardParts): void {
  const { store } = parts;
  app.get('/settings', async (request) => {
    const { accountId } = getMember(request);
    const [{ name, settings }, members, invitations] = await Promise.all([
      store.accounts.find(accountId),
      store.users.members(accountId),
      store.users.invitations(accountId),
    ]);
    return {
      account: { name },
      settings,
      members: members.map(toMember),
      invitations: invitations.map(({ id, email, role, expiresAt }) => ({ id, email, role, ends: expiresAt })),
    };
  });
  app.put('/account', { schema: { body: accountBody } }, async (request) => {
    await store.accounts.rename(getMember(request).accountId, request.body.name);
    return sessionResponse(parts, request);
  });
  app.put('/settings', { schema: { body: settingsBody } }, async (request) => {
    await store.accounts.setSettings(getMember(request).accountId, request.body);
    return { settings: request.body };
  });
}

const createBody = z.object({ name: z.string().trim().min(1, 'Give the key a name.').max(80) });
const params = z.object({ id: z.string().min(1).max(100) });
/** Up to 30 days. */
const rotateBody = z.object({ graceSeconds: z.int().min(0).max(2_592_000) });

const DAY_MS = 86_400_000;
/** Keys that an account makes in a day, by rotation too: all of them stay in the list. */
const NEW_KEYS_A_DAY = 100;

/** Keys of the account. A secret is in one answer only, the one that made it. */
export function keyRoutes(app: ApiApp, { store, now }: DashboardParts): void {
  const requireFewNew = async (accountId: string): Promise<void> => {
    const keys = await store.keys.list(accountId);
    if (keys.filter(({ createdAt }) => createdAt > now() - DAY_MS).length >= NEW_KEYS_A_DAY)
      throw new ApiError(429, `An account makes at most ${NEW_KEYS_A_DAY} keys a day. Try again tomorrow.`);
  };
  app.get('/keys', async (request) => ({
    keys: (await store.keys.list(getMember(request).accountId)).map(toListing),
    now: now(),
  }));
  app.post('/keys', { schema: { body: createBody } }, async (request) => {
    const { accountId } = getMember(request);
    await requireFewNew(accountId);
    const { id, secret } = await store.keys.create(accountId, request.body.name);
    return { id, secret };
  });
  app.post('/keys/:id/rotate', { schema: { params, body: rotateBody } }, async (request) => {
    const { graceSeconds } = request.body;
    const { accountId } = getMember(request);
    await requireFewNew(accountId);
    const { id, secret } = await orRefuse(
      'STORE_NOT_FOUND',
      new ApiError(404, 'There is no such key, or it is revoked.'),
      store.keys.rotate(accountId, request.params.id, graceSeconds),
    );
    return { id, secret };
  });
  app.post('/keys/:id/undo-rotation', { schema: { params } }, async (request) => {
    const { id } = await orRefuse(
      'STORE_NOT_FOUND',
      new ApiError(404, 'This rotation has ended, or its new key has itself been rotated.'),
      store.keys.undoRotation(getMember(request).accountId, request.params.id),
    );
    return { id };
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

function toListing({ id, name, hint, createdAt, lastUsedAt, expiresAt, revokedAt, replacedBy }: ApiKey): KeyListing {
  return { id, name, hint, created: createdAt, lastUsed: lastUsedAt, ends: revokedAt ?? expiresAt, replacedBy };
}
