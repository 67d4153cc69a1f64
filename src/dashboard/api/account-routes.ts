import { z } from 'zod';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { ApiError } from './api-parts.js';
import { accountState, toPlanListing } from './overview-routes.js';
import { getMember, sessionAnswer, toMember } from './sign-in/session.js';

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

/** Plan, account name and settings. */
export function accountRoutes(app: ApiApp, parts: DashboardParts): void {
  const { store, billing, orders, now } = parts;
  app.get('/plan', async (request) => {
    const { accountId } = getMember(request);
    const [account, months, placed] = await Promise.all([
      accountState(store, accountId, now()),
      store.usage.months(accountId, 24),
      orders.list(accountId),
    ]);
    const { overagePackCalls } = store.plans;
    const usage = months.map(({ month, used, overageUsed }) => ({ month, calls: used + overageUsed }));
    const plans = store.plans.all.map(toPlanListing);
    const onSale = plans.filter(({ id, trialDays }) => trialDays === null && billing.sells({ kind: 'plan', plan: id }));
    return {
      ...{ account, usage, plans, orders: placed, overagePackCalls, payment: billing.payment, now: now() },
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
      throw new ApiError(409, 'The order was carried out already.');
    return { cancelled: id };
  });

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
    return sessionAnswer(parts, request);
  });
  app.put('/settings', { schema: { body: settingsBody } }, async (request) => {
    await store.accounts.setSettings(getMember(request).accountId, request.body);
    return { settings: request.body };
  });
}
