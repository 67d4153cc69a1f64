import type { Pool } from 'pg';
import type { Charge } from '../account-store.js';
import { computeQuota, formatMonth, type Plans, refused } from '../plans.js';
import { StoreError } from '../store-error.js';

export interface ChargeItem {
  readonly accountId: string;
  readonly at: number;
}

/** The result of `portcullis_charge` for an account. */
export interface Granted {
  readonly id: string;
  readonly granted: number;
  readonly trial_ended: boolean;
  readonly plan_limit: number | null;
  readonly plan_used: number;
  readonly bought_left: number;
}

/** Counts the calls of a batch in one round trip. Calls of one account in one month are counted together, then dealt out in order. */
export function postgresCharge(
  pool: Pool,
  plans: Plans,
): (items: readonly ChargeItem[]) => Promise<readonly (Charge | Error)[]> {
  const planTable = writePlanTable(plans);
  return async (items) => {
    const groups = new Map<string, ChargeGroup & { readonly items: ChargeItem[] }>();
    for (const item of items) {
      // A trial may end between two calls of a batch: only calls of one moment share their answer.
      const name = `${item.accountId} ${item.at}`;
      const group = groups.get(name) ?? { ...item, calls: 0, items: [] };
      groups.set(name, group);
      group.calls += 1;
      group.items.push(item);
    }
    const sorted = [...groups.values()].sort(byAccount);
    const { rows } = await pool.query<Granted>({
      name: 'portcullis-charge',
      text: 'SELECT * FROM portcullis_charge($1, $2, $3, $4, $5)',
      values: chargeValues(sorted, planTable),
    });
    const charges = new Map<ChargeItem, Charge | Error>();
    let next = 0;
    for (const { accountId, items: own } of sorted) {
      // An account that isn't there has no row.
      const row = rows[next]?.id === accountId ? rows[next++] : undefined;
      for (const [place, item] of own.entries()) charges.set(item, toCharge(row, accountId, place, item.at));
    }
    return items.map((item) => charges.get(item) as Charge | Error);
  };
}

/** The order in which every server locks accounts. */
export function byAccount(a: ChargeItem, b: ChargeItem): number {
  return a.accountId === b.accountId ? a.at - b.at : a.accountId < b.accountId ? -1 : 1;
}

/** Calls of one account that are counted together, at the time of the last one. */
export interface ChargeGroup extends ChargeItem {
  calls: number;
}

/** The arguments of `portcullis_charge`. */
export function chargeValues(groups: readonly ChargeGroup[], planTable: string): unknown[] {
  return [
    groups.map(({ accountId }) => accountId),
    groups.map(({ calls }) => calls),
    groups.map(({ at }) => formatMonth(at)),
    groups.map(({ at }) => at),
    planTable,
  ];
}

/** The plans as `portcullis_charge` takes them. */
export function writePlanTable(plans: Plans): string {
  return JSON.stringify(
    Object.fromEntries(plans.all.map((it) => [it.name, { calls: it.monthlyCalls, trial: it.trialDays !== null }])),
  );
}

/** Returns how an account's grant applies to the call at this place of its group; an error where there is no such account. */
export function toCharge(row: Granted | undefined, accountId: string, place: number, at: number): Charge | Error {
  if (row === undefined) return new StoreError('STORE_NOT_FOUND', `no account "${accountId}"`);
  if (row.plan_limit === null)
    return new StoreError('STORE_NOT_FOUND', 'the account has a plan that the plans file lacks');
  const plan = { name: '', monthlyCalls: row.plan_limit, trialDays: null };
  if (row.trial_ended) return refused('TRIAL_ENDED', computeQuota(plan, row.plan_used, 0, at));
  if (place >= row.granted) return refused('MONTHLY_LIMIT_REACHED', computeQuota(plan, row.plan_used, 0, at));
  const quota = computeQuota(plan, row.plan_used, row.bought_left, at);
  // Those counted before the last of the group had more left.
  return { allowed: true, ...quota, remaining: quota.remaining + (row.granted - 1 - place) };
}
