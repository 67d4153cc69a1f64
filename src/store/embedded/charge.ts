import type { Database } from 'better-sqlite3';
import type { Charge } from '../account-store.js';
import { computeQuota, formatMonth, type Plans, refused, trialEnded } from '../plans.js';
import { StoreError } from '../store-error.js';
import type { WriteBuffer } from './commits.js';

interface AccountRow {
  readonly plan: string;
  readonly trial_ends_at: number | null;
  trial_used: number;
  overage_left: number;
  /** Bought calls and calls of the trial that this commit took. */
  taken: number;
  tried: number;
}

interface Month {
  readonly accountId: string;
  readonly month: string;
  used: number;
  /** Calls that this commit adds to those of the plan, and to the bought ones. */
  added: number;
  bought: number;
}

/** Counts calls inside a commit. */
export interface EmbeddedCharge extends WriteBuffer {
  charge(accountId: string, at: number): Charge;
}

/**
 * Exact, since a commit has the database to itself across processes: an account is read once a commit, and written once
 * with all the calls that the commit lets in.
 */
// Long: mostly prepared statements and the rows that a commit has read.
export function embeddedCharge(db: Database, plans: Plans): EmbeddedCharge {
  const account = db.prepare<[string], Omit<AccountRow, 'taken' | 'tried'>>(
    'SELECT plan, trial_ends_at, trial_used, overage_left FROM accounts WHERE id = ?',
  );
  const usage = db
    .prepare<[string, string], number>('SELECT used FROM usage_months WHERE account_id = ? AND month = ?')
    .pluck();
  const count = db.prepare<[string, string, number, number]>(
    `INSERT INTO usage_months (account_id, month, used, overage_used) VALUES (?, ?, ?, ?)
     ON CONFLICT (account_id, month)
     DO UPDATE SET used = used + excluded.used, overage_used = overage_used + excluded.overage_used`,
  );
  const take = db.prepare<[number, number, string]>(
    'UPDATE accounts SET overage_left = overage_left - ?, trial_used = trial_used + ? WHERE id = ?',
  );
  const accounts = new Map<string, AccountRow>();
  const months = new Map<string, Month>();

  const findAccount = (id: string): AccountRow => {
    const known = accounts.get(id);
    if (known) return known;
    const row = account.get(id);
    if (!row) throw new StoreError('STORE_NOT_FOUND', `no account "${id}"`);
    const read = { ...row, taken: 0, tried: 0 };
    accounts.set(id, read);
    return read;
  };
  const monthFor = (accountId: string, month: string): Month => {
    const name = `${accountId} ${month}`;
    const known = months.get(name);
    if (known) return known;
    const read = { accountId, month, used: usage.get(accountId, month) ?? 0, added: 0, bought: 0 };
    months.set(name, read);
    return read;
  };
  const drop = (): void => {
    accounts.clear();
    months.clear();
  };

  return {
    charge(accountId, at) {
      const row = findAccount(accountId);
      const plan = plans.get(row.plan);
      const month = monthFor(accountId, formatMonth(at));
      const isTrial = plan.trialDays !== null;
      const used = (): number => (isTrial ? row.trial_used : month.used);
      if (trialEnded(plan, row.trial_ends_at, at)) return refused('TRIAL_ENDED', computeQuota(plan, used(), 0, at));
      if (used() < plan.monthlyCalls) {
        month.used += 1;
        month.added += 1;
        row.trial_used += Number(isTrial);
        row.tried += Number(isTrial);
        return { allowed: true, ...computeQuota(plan, used(), row.overage_left, at) };
      }
      if (row.overage_left < 1) return refused('MONTHLY_LIMIT_REACHED', computeQuota(plan, used(), 0, at));
      month.bought += 1;
      row.overage_left -= 1;
      row.taken += 1;
      return { allowed: true, ...computeQuota(plan, used(), row.overage_left, at) };
    },
    write() {
      for (const { accountId, month, added, bought } of months.values())
        if (added + bought > 0) count.run(accountId, month, added, bought);
      for (const [id, { taken, tried }] of accounts) if (taken + tried > 0) take.run(taken, tried, id);
      drop();
    },
    drop,
  };
}
