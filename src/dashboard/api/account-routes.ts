import { z } from 'zod';
import { ApiError } from './api-error.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { memberOf } from './guard.js';

const day = 86_400_000;
const ranges = { day: [day, 3_600_000], week: [7 * day, 6 * 3_600_000], month: [30 * day, day] } as const;

const settingsBody = z.object({
  keep: z.enum(['whole', 'masked', 'hash']),
  retentionDays: z.int().min(1).max(3650),
  verdictForm: z.enum(['extended', 'minimal']),
});
const orderBody = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('plan'), plan: z.string().min(1).max(80) }),
  z.object({ kind: z.literal('overage'), packs: z.int().min(1).max(100) }),
]);

/** Overview, plan and settings. */
export function accountRoutes(app: ApiApp, { store, billing, orders, now }: DashboardParts): void {
  const rangeQuery = z.object({ range: z.enum(['day', 'week', 'month']).default('day') });
  app.get('/overview', { schema: { querystring: rangeQuery } }, async (request) => {
    const { accountId } = memberOf(request);
    const [length, step] = ranges[request.query.range];
    const to = Math.ceil(now() / step) * step;
    const [account, activity, change, keys] = await Promise.all([
      store.account(accountId),
      store.activity(accountId, to - length, to, step),
      store.change(accountId),
      store.keys(accountId),
    ]);
    return { account, activity, change: change ?? null, keys: keys.length, now: now() };
  });

  app.get('/plan', async (request) => {
    const { accountId } = memberOf(request);
    const [account, usage, plans, placed] = await Promise.all([
      store.account(accountId),
      store.usageByMonth(accountId),
      store.plans(),
      orders.list(accountId),
    ]);
    const { overagePackCalls } = store;
    const onSale = plans.filter(({ id, trialDays }) => trialDays === null && billing.sells({ kind: 'plan', plan: id }));
    return {
      ...{ account, usage, plans, orders: placed, overagePackCalls, payment: billing.payment, now: now() },
      onSale: onSale.map(({ id }) => id),
    };
  });
  app.post('/orders', { schema: { body: orderBody } }, async (request) => {
    const { accountId, email } = memberOf(request);
    const purchase = request.body;
    if (purchase.kind === 'plan' && !(await store.plans()).some(({ id }) => id === purchase.plan))
      throw new ApiError(404, 'There is no such plan.');
    if (!billing.sells(purchase)) throw new ApiError(409, 'This is not on sale here. Ask the operator.');
    return billing.order(accountId, purchase, email);
  });

  app.get('/settings', async (request) => {
    const { accountId } = memberOf(request);
    const [settings, members, invitations] = await Promise.all([
      store.settings(accountId),
      store.members(accountId),
      store.invitations(accountId),
    ]);
    return { settings, members, invitations };
  });
  app.put('/settings', { schema: { body: settingsBody } }, async (request) => {
    await store.changeSettings(memberOf(request).accountId, request.body);
    return { settings: request.body };
  });
}
