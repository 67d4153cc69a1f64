import { z } from 'zod';
import { hashPassword } from '../../adapters/password-hash.js';
import { ApiError } from './api-error.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { memberOf } from './guard.js';
import { emailSchema, passwordSchema } from './sign-in-routes.js';

const day = 86_400_000;
const ranges = { day: [day, 3_600_000], week: [7 * day, 6 * 3_600_000], month: [30 * day, day] } as const;

const settingsBody = z.object({
  keep: z.enum(['whole', 'masked', 'hash']),
  retentionDays: z.int().min(1).max(3650),
  verdictForm: z.enum(['extended', 'minimal']),
});
const memberBody = z.object({ email: emailSchema, password: passwordSchema, role: z.enum(['owner', 'viewer']) });
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
    const [account, activity, keys] = await Promise.all([
      store.account(accountId),
      store.activity(accountId, to - length, to, step),
      store.keys(accountId),
    ]);
    return { account, activity, keys: keys.length, now: now() };
  });

  app.get('/plan', async (request) => {
    const { accountId } = memberOf(request);
    const [account, usage, plans, placed] = await Promise.all([
      store.account(accountId),
      store.usageByMonth(accountId),
      store.plans(),
      orders.list(accountId),
    ]);
    return { account, usage, plans, orders: placed, now: now() };
  });
  app.post('/orders', { schema: { body: orderBody } }, async (request) => {
    const { accountId, email } = memberOf(request);
    const purchase = request.body;
    if (purchase.kind === 'plan' && !(await store.plans()).some(({ id }) => id === purchase.plan))
      throw new ApiError(404, 'There is no such plan.');
    return billing.order(accountId, purchase, email);
  });

  app.get('/settings', async (request) => {
    const { accountId } = memberOf(request);
    const [settings, members] = await Promise.all([store.settings(accountId), store.members(accountId)]);
    return { settings, members };
  });
  app.put('/settings', { schema: { body: settingsBody } }, async (request) => {
    await store.changeSettings(memberOf(request).accountId, request.body);
    return { settings: request.body };
  });
  app.post('/members', { schema: { body: memberBody } }, async (request) => {
    const { email, password, role } = request.body;
    const order = { email, role, passwordHash: await hashPassword(password) };
    const member = await store.addMember(memberOf(request).accountId, order);
    if (member === undefined)
      throw new ApiError(409, 'There is a member with this e-mail, here or in another account.');
    return { member };
  });
  const memberParams = z.object({ id: z.string().min(1).max(100) });
  app.delete('/members/:id', { schema: { params: memberParams } }, async (request) => {
    if (!(await store.removeMember(memberOf(request).accountId, request.params.id)))
      throw new ApiError(404, 'There is no such member, or it is the last owner.');
    return { removed: request.params.id };
  });
}
