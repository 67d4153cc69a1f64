import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
// biome-ignore lint/correctness/useImportExtensions: it is data, and stays JSON.
import defaults from './default-plans.json' with { type: 'json' };
import { StoreError } from './store-error.js';

/** One plan. */
export interface Plan {
  readonly name: string;
  /** Calls a calendar month, UTC. */
  readonly monthlyCalls: number;
  /** Null for a plan that doesn't end. */
  readonly trialDays: number | null;
}

/** What can be bought. Data, not code: an operator edits one file. */
export interface Plans {
  /** In the file's order. */
  readonly all: readonly Plan[];
  /** Calls of one overage pack; they don't expire. */
  readonly overagePackCalls: number;
  /** @throws StoreError `STORE_NOT_FOUND`, naming the plans there are. */
  get(name: string): Plan;
}

const most = 1e12;
const schema = z.strictObject({
  plans: z
    .record(
      z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
      z.strictObject({ monthly_calls: z.int().min(1).max(most), trial_days: z.int().min(1).max(3650).optional() }),
    )
    .refine((plans) => Object.keys(plans).length > 0, { message: 'at least one plan' }),
  overage_pack_calls: z.int().min(1).max(most),
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
  return plansOf({ all, overagePackCalls: read.data.overage_pack_calls });
};

/** Plans that can be looked up. */
export function plansOf({ all, overagePackCalls }: Pick<Plans, 'all' | 'overagePackCalls'>): Plans {
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
