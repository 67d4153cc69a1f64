import { z } from 'zod';
import { formatMonth, type Plan } from '../../store/plans.js';
import type { Store } from '../../store/store.js';
import { findChange, summariseActivity } from '../figures.js';
import type { AccountState, Activity, ActivityTotals, PlanListing, StatusResponse } from '../ports.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { shortened } from './review-routes.js';
import { getMember } from './sign-in/session.js';

const HOUR = 3_600_000;
const day = 24 * HOUR;
/** Length and step of each period. */
const ranges = { day: [day, HOUR], week: [7 * day, 6 * HOUR], month: [30 * day, day] } as const;
/** Steps of a young account: as fine as its calls fill the chart. */
const finerSteps = [
  [2 * day, HOUR],
  [14 * day, 6 * HOUR],
] as const;
const LEAST_STEPS = 12;
const LATEST_BLOCKS = 6;
const rangeQuery = z.object({ range: z.enum(['day', 'week', 'month']).default('day') });

/** The overview, and what needs attention on every page. */
export function overviewRoutes(app: ApiApp, { store, now }: DashboardParts): void {
  app.get('/overview', { schema: { querystring: rangeQuery } }, async (request) => {
    const { accountId } = getMember(request);
    const [length, step] = ranges[request.query.range];
    const at = now();
    const to = Math.ceil(at / step) * step;
    const [account, shown, previous, latest, versions, keys, rejected] = await Promise.all([
      accountState(store, accountId, at),
      activity(store, accountId, to - length, to, step),
      totals(store, accountId, to - 2 * length, to - length),
      store.evidence.list(accountId, { verdict: 'block' }, null, LATEST_BLOCKS),
      store.evidence.versions(accountId),
      store.keys.list(accountId),
      withoutVerdict(store, accountId, at),
    ]);
    return {
      account,
      activity: await finer(store, accountId, shown, to, step, at),
      previous,
      latest: latest.records.map(shortened),
      rejected,
      change: findChange(versions) ?? null,
      keys: keys.length,
      now: at,
    };
  });

  app.get('/status', async (request): Promise<StatusResponse> => {
    const { accountId } = getMember(request);
    const at = now();
    const thisHour = Math.floor(at / HOUR) * HOUR;
    const [account, { calls, modelErrors }] = await Promise.all([
      accountState(store, accountId, at),
      totals(store, accountId, thisHour - HOUR, thisHour + HOUR),
    ]);
    return { account, model: { calls, errors: modelErrors }, now: at };
  });
}

/** Plan and usage of an account. */
export async function accountState(store: Store, id: string, now: number): Promise<AccountState> {
  const { name, plan, trialEndsAt, trialUsed, overageLeft } = await store.accounts.find(id);
  const today = new Date(now);
  const latest = (await store.usage.months(id, 1))[0];
  const usedNow = latest?.month === formatMonth(now) ? latest.used : 0;
  const listing = toPlanListing(store.plans.get(plan));
  return {
    ...{ id, name, overageLeft, plan: listing },
    trialEnds: listing.trialDays === null ? null : trialEndsAt,
    usedThisMonth: listing.trialDays === null ? usedNow : trialUsed,
    monthEnds: Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1),
  };
}

/** A plan as the page lists it. */
export function toPlanListing({ name, monthlyCalls, trialDays }: Plan): PlanListing {
  return { id: name, title: name.charAt(0).toUpperCase() + name.slice(1), callsPerMonth: monthlyCalls, trialDays };
}

async function activity(store: Store, id: string, from: number, to: number, stepMs: number): Promise<Activity> {
  const unit = stepMs < day ? 'hour' : 'day';
  const [counts, latencies] = await Promise.all([
    store.evidence.counts(id, from, to, unit),
    store.evidence.latencies(id, from, to, unit),
  ]);
  return summariseActivity(counts, latencies, from, to, stepMs);
}

/** The same in finer steps where all calls are recent. */
async function finer(
  store: Store,
  id: string,
  shown: Activity,
  to: number,
  step: number,
  now: number,
): Promise<Activity> {
  const first = shown.steps.find(({ calls }) => calls > 0)?.time;
  if (first === undefined) return shown;
  const fitting = finerSteps.find(([age, size]) => to - first <= age && size < step)?.[1];
  if (fitting === undefined) return shown;
  const end = Math.ceil(now / fitting) * fitting;
  const from = Math.min(Math.floor(first / fitting) * fitting, end - LEAST_STEPS * fitting);
  return activity(store, id, from, end, fitting);
}

async function totals(store: Store, id: string, from: number, to: number): Promise<ActivityTotals> {
  const counts = await store.evidence.counts(id, from, to, to - from < day ? 'hour' : 'day');
  const sum = (of: keyof ActivityTotals): number => counts.reduce((total, it) => total + it[of], 0);
  return { calls: sum('calls'), blocks: sum('blocks'), modelErrors: sum('modelErrors') };
}

/** Calls of this month that were counted and have no verdict: malformed requests and failures. */
async function withoutVerdict(store: Store, id: string, now: number): Promise<number> {
  const today = new Date(now);
  const monthStart = Date.UTC(today.getUTCFullYear(), today.getUTCMonth());
  const [months, { calls }] = await Promise.all([store.usage.months(id, 1), totals(store, id, monthStart, now + HOUR)]);
  const month = months[0];
  // A call is counted a moment before its verdict is kept.
  return month?.month === formatMonth(now) ? Math.max(0, month.used + month.overageUsed - calls) : 0;
}
