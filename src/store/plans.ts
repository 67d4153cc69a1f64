import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Charge, Quota } from './account-store.js';
// biome-ignore lint/correctness/useImportExtensions: it is data, and stays JSON.
import defaults from './default-plans.json' with { type: 'json' };
import { StoreError } from './store-error.js';

export interface Plan {
  readonly name: string;
  /** Calls a calendar month, UTC. */
  readonly monthlyCalls: number;
  /** Null for a plan that doesn't end. */
  readonly trialDays: number | null;
}

/** The plans and packs on sale. Data, not code: an operator edits one file. */
export interface Plans {
  /** In the file's order. */
  readonly all: readonly Plan[];
  /** Calls of one overage pack; they don't expire. */
  readonly overagePackCalls: number;
  /** @throws StoreError `STORE_NOT_FOUND`, naming the plans there are. */
  get(name: string): Plan;
}

const MOST = 1e12;
const schema = z.strictObject({
  plans: z
    .record(
      z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
      z.strictObject({ monthly_calls: z.int().min(1).max(MOST), trial_days: z.int().min(1).max(3650).optional() }),
    )
    .refine((plans) => Object.keys(plans).length > 0, { message: 'at least one plan' }),
  overage_pack_calls: z.int().min(1).max(MOST),
});

const parsed = (value: unknown, from: string): Plans => {
  const read = schema.safeParse(value);
  if (!read.success) {
    const issues = read.error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`);
    throw new StoreError('STORE_SETTINGS', `${from}: ${issues.join('; ')}`);
  }
  const all = Object.entries(read.data.plans).map(
    ([name, { monthly_calls, trial_days }]): Plan => ({
      name,
      monthlyCalls: monthly_calls,
      trialDays: trial_days ?? null,
    }),
  );
  return buildPlans({ all, overagePackCalls: read.data.overage_pack_calls });
};

/** Plans that can be looked up. */
export function buildPlans({ all, overagePackCalls }: Pick<Plans, 'all' | 'overagePackCalls'>): Plans {
  return {
    all,
    overagePackCalls,
    get: (name) => {
      const plan = all.find((it) => it.name === name);
      if (plan) return plan;
      throw new StoreError('STORE_NOT_FOUND', `no plan "${name}"; there are: ${all.map((it) => it.name).join(', ')}`);
    },
  };
}

/** The plans of a YAML or JSON file, or the ones that come with the product. @throws StoreError STORE_SETTINGS */
export function loadPlans(file?: string): Plans {
  if (file === undefined) return parsed(defaults, 'default plans');
  let value: unknown;
  try {
    value = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : 'unreadable';
    throw new StoreError('STORE_SETTINGS', `${file}: ${why}`, { cause: error });
  }
  return parsed(value, file);
}

interface Month {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** The month asked for last: a call asks for the same one three times, and so does the next call. */
let lastMonth: Month = { name: '', start: 0, end: 0 };

function monthAt(at: number): Month {
  if (at < lastMonth.start || at >= lastMonth.end) {
    const date = new Date(at);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    lastMonth = {
      name: date.toISOString().slice(0, 7),
      start: Date.UTC(year, month, 1),
      end: Date.UTC(year, month + 1, 1),
    };
  }
  return lastMonth;
}

/** The calendar month in UTC of a time: `2026-11`. */
export function formatMonth(at: number): string {
  return monthAt(at).name;
}

/** The quota after `used` calls of the plan, with `overageLeft` bought calls. */
export function computeQuota(plan: Plan, used: number, overageLeft: number, at: number): Quota {
  return {
    limit: plan.monthlyCalls,
    remaining: Math.max(0, plan.monthlyCalls - used) + overageLeft,
    resetSeconds: Math.max(1, Math.ceil((monthAt(at).end - at) / 1000)),
  };
}

/** Whether the plan is a trial that is over. */
export function trialEnded(plan: Plan, trialEndsAt: number | null, at: number): boolean {
  return plan.trialDays !== null && trialEndsAt !== null && at >= trialEndsAt;
}

/** A refusal with its quota. A trial that ended has nothing left. */
export function refused(code: 'TRIAL_ENDED' | 'MONTHLY_LIMIT_REACHED', quota: Quota): Charge {
  return { ...quota, remaining: 0, allowed: false, code };
}
