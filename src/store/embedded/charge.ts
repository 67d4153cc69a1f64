import type { Database } from 'better-sqlite3';
import type { Plans } from '../plans.js';
import { monthOf, quotaOf, refused, trialEnded } from '../quota.js';
import { StoreError } from '../store-error.js';
import type { Charge } from '../usage-store.js';

interface AccountRow {
  readonly plan: string;
  readonly trial_ends_at: number | null;
  readonly overage_left: number;
}

/** Counts one call inside a commit. Exact, since a commit has the database to itself across processes. */
export function embeddedCharge(db: Database, plans: Plans): (accountId: string, at: number) => Charge {
  const account = db.prepare<[string], AccountRow>(
    'SELECT plan, trial_ends_at, overage_left FROM accounts WHERE id = ?',
  );
  const usage = db.prepare<[string, string], { readonly used: number }>(
    'SELECT used FROM usage_months WHERE account_id = ? AND month = ?',
  );
  const count = db.prepare<[string, string, number, number]>(
    `INSERT INTO usage_months (account_id, month, used, overage_used) VALUES (?, ?, ?, ?)
     ON CONFLICT (account_id, month)
     DO UPDATE SET used = used + excluded.used, overage_used = overage_used + excluded.overage_used`,
  );
  const takeOverage = db.prepare<[string]>('UPDATE accounts SET overage_left = overage_left - 1 WHERE id = ?');

  return (accountId, at) => {
    const row = account.get(accountId);
    if (!row) throw new StoreError('STORE_NOT_FOUND', `no account "${accountId}"`);
    const plan = plans.get(row.plan);
    const month = monthOf(at);
    const used = usage.get(accountId, month)?.used ?? 0;
    if (trialEnded(plan, row.trial_ends_at, at)) return refused('TRIAL_ENDED', quotaOf(plan, used, 0, at));
    if (used < plan.monthlyCalls) {
      count.run(accountId, month, 1, 0);
      return { allowed: true, ...quotaOf(plan, used + 1, row.overage_left, at) };
    }
    if (row.overage_left < 1) return refused('MONTHLY_LIMIT_REACHED', quotaOf(plan, used, 0, at));
    count.run(accountId, month, 0, 1);
    takeOverage.run(accountId);
    return { allowed: true, ...quotaOf(plan, used, row.overage_left - 1, at) };
  };
}
