import { z } from 'zod';
import type { Plan } from '../../store/plans.js';
import type { Store } from '../../store/store.js';
import { activityOf, changeOf } from '../figures.js';
import type { AccountState, Activity, PlanListing } from '../ports.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { ApiError } from './api-parts.js';
import { memberOf, toMember } from './session.js';

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
    const [account, shown, versions, keys] = await Promise.all([
      accountState(store, accountId, now()),
      activity(store, accountId, to - length, to, step),
      store.evidence.versions(accountId),
      store.keys.list(accountId),
    ]);
    return { account, activity: shown, change: changeOf(versions) ?? null, keys: keys.length, now: now() };
  });

  app.get('/plan', async (request) => {
    const { accountId } = memberOf(request);
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
    const { accountId, email } = memberOf(request);
    const purchase = request.body;
    if (purchase.kind === 'plan' && !store.plans.all.some(({ name }) => name === purchase.plan))
      throw new ApiError(404, 'There is no such plan.');
    if (!billing.sells(purchase)) throw new ApiError(409, 'This is not on sale here. Ask the operator.');
    return billing.order(accountId, purchase, email);
  });

  app.get('/settings', async (request) => {
    const { accountId } = memberOf(request);
    const [{ settings }, members, invitations] = await Promise.all([
      store.accounts.find(accountId),
      store.users.members(accountId),
      store.users.invitations(accountId),
    ]);
    return {
      settings,
      members: members.map(toMember),
      invitations: invitations.map(({ id, email, role, expiresAt }) => ({ id, email, role, ends: expiresAt })),
    };
  });
  app.put('/settings', { schema: { body: settingsBody } }, async (request) => {
    await store.accounts.setSettings(memberOf(request).accountId, request.body);
    return { settings: request.body };
  });
}

async function accountState(store: Store, id: string, now: number): Promise<AccountState> {
  const { name, plan, trialEndsAt, overageLeft } = await store.accounts.find(id);
  const today = new Date(now);
  const latest = (await store.usage.months(id, 1))[0];
  const listing = toPlanListing(store.plans.get(plan));
  return {
    ...{ id, name, overageLeft, plan: listing },
    trialEnds: listing.trialDays === null ? null : trialEndsAt,
    usedThisMonth: latest?.month === today.toISOString().slice(0, 7) ? latest.used : 0,
    monthEnds: Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1),
  };
}

async function activity(store: Store, id: string, from: number, to: number, stepMs: number): Promise<Activity> {
  const unit = stepMs < day ? 'hour' : 'day';
  const [counts, latencies] = await Promise.all([
    store.evidence.counts(id, from, to, unit),
    store.evidence.latencies(id, from, to, unit),
  ]);
  return activityOf(counts, latencies, from, to, stepMs);
}

function toPlanListing({ name, monthlyCalls, trialDays }: Plan): PlanListing {
  return { id: name, title: name.charAt(0).toUpperCase() + name.slice(1), callsPerMonth: monthlyCalls, trialDays };
}
