import type { Pool } from 'pg';
import type { Charge } from '../account-store.js';
import type { Plans } from '../plans.js';
import { computeQuota, formatMonth, refused } from '../plans.js';
import { StoreError } from '../store-error.js';

/** One call to be counted. */
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
    const groups = new Map<string, ChargeItem[]>();
    for (const item of items) {
      // A trial may end between two calls of a batch: only calls of one moment share their answer.
      const name = `${item.accountId} ${item.at}`;
      groups.set(name, [...(groups.get(name) ?? []), item]);
    }
    const sorted = [...groups.values()].sort(([a], [b]) => order(a, b));
    const heads = sorted.map(([head]) => head).filter((head) => head !== undefined);
    const { rows } = await pool.query<Granted>({
      name: 'portcullis-charge',
      text: 'SELECT * FROM portcullis_charge($1, $2, $3, $4, $5)',
      values: [
        heads.map((it) => it.accountId),
        sorted.map((group) => group.length),
        heads.map((it) => formatMonth(it.at)),
        heads.map((it) => it.at),
        planTable,
      ],
    });
    return dealt(items, sorted, rows);
  };
}

/** The plans as `portcullis_charge` takes them. */
export function writePlanTable(plans: Plans): string {
  return JSON.stringify(
    Object.fromEntries(plans.all.map((it) => [it.name, { calls: it.monthlyCalls, trial: it.trialDays !== null }])),
  );
}

const order = (a: ChargeItem | undefined, b: ChargeItem | undefined): number => {
  if (!a || !b) return 0;
  if (a.accountId !== b.accountId) return a.accountId < b.accountId ? -1 : 1;
  return a.at - b.at;
};

function dealt(
  items: readonly ChargeItem[],
  groups: readonly (readonly ChargeItem[])[],
  rows: readonly Granted[],
): readonly (Charge | Error)[] {
  const answers = new Map<ChargeItem, Charge | Error>();
  let next = 0;
  for (const group of groups) {
    const row = rows[next];
    const first = group[0];
    const own = row !== undefined && row.id === first?.accountId ? row : undefined;
    if (own !== undefined) next += 1;
    for (const [i, it] of group.entries()) answers.set(it, toCharge(own, it.accountId, i, it.at));
  }
  return items.map((it) => answers.get(it) ?? new StoreError('STORE_UNAVAILABLE', 'the database did not respond'));
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
