import { monthOf, quotaOf, trialEnded } from '../quota.js';
import { StoreError } from '../store-error.js';
import type { UsageStore } from '../usage-store.js';
import type { Connection } from './connection.js';

/** Reading usage in SQL; charging is each database's own. */
export function sqlUsage({ db, plans }: Connection): Omit<UsageStore, 'charge'> {
  return {
    async quota(accountId, at) {
      const account = await db.selectFrom('accounts').selectAll().where('id', '=', accountId).executeTakeFirst();
      if (!account) throw new StoreError('STORE_NOT_FOUND', `no account "${accountId}"`);
      const usage = await db
        .selectFrom('usage_months')
        .select('used')
        .where('account_id', '=', accountId)
        .where('month', '=', monthOf(at))
        .executeTakeFirst();
      const plan = plans.get(account.plan);
      const quota = quotaOf(plan, usage?.used ?? 0, account.overage_left, at);
      return trialEnded(plan, account.trial_ends_at, at) ? { ...quota, remaining: 0 } : quota;
    },
    async months(accountId, limit) {
      const rows = await db
        .selectFrom('usage_months')
        .selectAll()
        .where('account_id', '=', accountId)
        .orderBy('month', 'desc')
        .limit(limit)
        .execute();
      return rows.map((row) => ({ month: row.month, used: row.used, overageUsed: row.overage_used }));
    },
  };
}
