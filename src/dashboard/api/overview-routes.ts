import { z } from 'zod';
import { type EvidenceCount, type LatencyCount, latencyAt, type VersionCount } from '../../store/evidence-store.js';
import { formatMonth, type Plan } from '../../store/plans.js';
import type { Store } from '../../store/store.js';
import type {
  AccountState,
  Activity,
  ActivityTotals,
  PlanListing,
  StatusResponse,
  TimeStep,
  VersionChange,
  VersionTotals,
} from '../ports.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { shortened } from './review-routes.js';
import { getMember } from './sign-in/session.js';

const HOUR = 3_600_000;
const day = 24 * HOUR;
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

/** The overview's figures. Each step of `[from, to)` is there, empty ones too. */
function summariseActivity(
  counts: readonly EvidenceCount[],
  latencies: readonly LatencyCount[],
  from: number,
  to: number,
  stepMs: number,
): Activity {
  const steps = Array.from({ length: Math.round((to - from) / stepMs) }, (_, index) => ({
    ...{ time: from + index * stepMs, calls: 0, blocks: 0, modelErrors: 0 },
    took: new Map<number, number>(),
  }));
  const stepAt = (at: number) => steps[Math.floor((at - from) / stepMs)];
  const byRule = new Map<string, number>();
  for (const it of counts) {
    if (it.blocks > 0) byRule.set(it.rule, (byRule.get(it.rule) ?? 0) + it.blocks);
    const step = stepAt(it.at);
    if (step === undefined) continue;
    step.calls += it.calls;
    step.blocks += it.blocks;
    step.modelErrors += it.modelErrors;
  }
  for (const { at, step: took, calls } of latencies) {
    const step = stepAt(at);
    step?.took.set(took, (step.took.get(took) ?? 0) + calls);
  }
  return {
    steps: steps.map(({ took, ...step }) => ({ ...step, latency: computePercentiles(took) })),
    byRule: [...byRule].map(([rule, blocks]) => ({ rule, blocks })).sort((a, b) => b.blocks - a.blocks),
  };
}

/** By nearest rank; null where nothing was counted. */
function computePercentiles(took: ReadonlyMap<number, number>): TimeStep['latency'] {
  const sorted = [...took].sort(([a], [b]) => a - b);
  const calls = sorted.reduce((sum, [, n]) => sum + n, 0);
  if (calls === 0) return null;
  const at = (part: number): number => {
    let left = Math.ceil(calls * part);
    const found = sorted.find(([, n]) => {
      left -= n;
      return left <= 0;
    });
    return latencyAt(found?.[0] ?? 0);
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function findChange(counts: readonly VersionCount[]): VersionChange | undefined {
  const byPair = new Map<string, readonly VersionCount[]>();
  for (const it of counts) {
    const pair = `${it.rulesVersion} ${it.mlVersion}`;
    byPair.set(pair, [...(byPair.get(pair) ?? []), it]);
  }
  const pairs = [...byPair.values()]
    .map((of) => ({ of, totals: totalsOf(of) }))
    .sort((a, b) => b.totals.firstAt - a.totals.firstAt);
  const [after, before] = pairs;
  if (after === undefined || before === undefined) return undefined;
  const names = new Set([...before.of, ...after.of].map(({ rule }) => rule));
  const counted = (of: readonly VersionCount[], rule: string) => {
    const it = of.find((one) => one.rule === rule);
    return { blocks: it?.blocks ?? 0, falseAlarms: it?.falseAlarms ?? 0, missedAttacks: it?.missedAttacks ?? 0 };
  };
  const rules = [...names].map((rule) => ({
    rule,
    before: counted(before.of, rule),
    after: counted(after.of, rule),
  }));
  const moved = (it: (typeof rules)[number]): number =>
    Math.abs(it.after.blocks / after.totals.calls - it.before.blocks / before.totals.calls);
  return {
    before: before.totals,
    after: after.totals,
    rules: rules.filter(({ rule }) => rule !== 'none').sort((a, b) => moved(b) - moved(a)),
  };
}

function totalsOf(of: readonly VersionCount[]): VersionTotals {
  const sum = (name: 'calls' | 'blocks' | 'falseAlarms' | 'missedAttacks') =>
    of.reduce((total, it) => total + it[name], 0);
  return {
    rulesVersion: of[0]?.rulesVersion ?? '',
    mlVersion: of[0]?.mlVersion ?? '',
    firstAt: Math.min(...of.map(({ firstAt }) => firstAt)),
    lastAt: Math.max(...of.map(({ lastAt }) => lastAt)),
    ...{ calls: sum('calls'), blocks: sum('blocks') },
    ...{ falseAlarms: sum('falseAlarms'), missedAttacks: sum('missedAttacks') },
  };
}
