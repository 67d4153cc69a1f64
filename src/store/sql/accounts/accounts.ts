import { sql } from 'kysely';
import type { Account, AccountSettings, AccountStore, UsageStore } from '../../account-store.js';
import { computeQuota, formatMonth, type Plans, trialEnded } from '../../plans.js';
import { randomId } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';

const DAY_MS = 86_400_000;
const defaultSettings: AccountSettings = { verdictForm: 'extended', retentionDays: 90, keep: 'whole' };

/** An account as callers see it. */
export function toAccount(row: Tables['accounts']): Account {
  const { overlay = null, ...settings } = JSON.parse(row.settings) as Partial<
    AccountSettings & Pick<Account, 'overlay'>
  >;
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    trialEndsAt: row.trial_ends_at,
    trialUsed: row.trial_used,
    overageLeft: row.overage_left,
    settings: { ...defaultSettings, ...settings },
    overlay,
    createdAt: row.created_at,
  };
}

const missing = (id: string): StoreError => new StoreError('STORE_NOT_FOUND', `no account "${id}"`);

const trialEnd = (plans: Plans, plan: string, at: number): number | null => {
  const { trialDays } = plans.get(plan);
  return trialDays === null ? null : at + trialDays * DAY_MS;
};

/** A new account; `db` may be inside a transaction. @throws StoreError */
export async function createAccount(
  { db, plans, now }: Pick<Connection, 'db' | 'plans' | 'now'>,
  name: string,
  plan: string,
): Promise<Account> {
  const at = now();
  const trial_ends_at = trialEnd(plans, plan, at);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const row = await db
      .insertInto('accounts')
      .values({
        id: randomId('acct'),
        number: sql<number>`(SELECT coalesce(max(number), 0) + 1 FROM accounts)`,
        name,
        plan,
        trial_ends_at,
        trial_used: 0,
        overage_left: 0,
        settings: '{}',
        created_at: at,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row) return toAccount(row);
  }
  throw new StoreError('STORE_CONFLICT', 'too many accounts are being created at once; try again');
}

/** Accounts in SQL. */
export function sqlAccounts(connection: Connection): AccountStore {
  const { db, plans, now, transaction } = connection;
  const change = async (id: string, values: Partial<Tables['accounts']>): Promise<Account> => {
    const row = await db.updateTable('accounts').set(values).where('id', '=', id).returningAll().executeTakeFirst();
    if (!row) throw missing(id);
    return toAccount(row);
  };
  return {
    create: (name, plan) => createAccount(connection, name, plan),
    async get(id) {
      const row = await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toAccount(row);
    },
    async find(idOrName) {
      const rows = await db
        .selectFrom('accounts')
        .selectAll()
        .where((where) => where.or([where('id', '=', idOrName), where('name', '=', idOrName)]))
        .orderBy('number')
        .execute();
      const [first, second] = rows;
      if (!first) throw missing(idOrName);
      const byId = rows.find((row) => row.id === idOrName);
      if (second && !byId) {
        const ids = rows.map((row) => row.id).join(', ');
        throw new StoreError('STORE_CONFLICT', `several accounts are named "${idOrName}"; give the id: ${ids}`);
      }
      return toAccount(byId ?? first);
    },
    async list() {
      return (await db.selectFrom('accounts').selectAll().orderBy('number').execute()).map(toAccount);
    },
    rename: (id, name) => change(id, { name }),
    async setPlan(id, plan) {
      plans.get(plan);
      const account = await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
      if (!account) throw missing(id);
      // Going back to a trial doesn't start another one.
      return change(id, { plan, trial_ends_at: account.trial_ends_at ?? trialEnd(plans, plan, now()) });
    },
    setTrialEnd: (id, at) => change(id, { trial_ends_at: at }),
    setSettings: (id, settings) =>
      transaction(async (inside) => {
        // The row is locked by this write before it is read: two changes at once both last.
        const row = await inside
          .updateTable('accounts')
          .set({ settings: sql`settings` })
          .where('id', '=', id)
          .returning('settings')
          .executeTakeFirst();
        if (!row) throw missing(id);
        const merged = JSON.stringify({ ...(JSON.parse(row.settings) as object), ...settings });
        const changed = inside.updateTable('accounts').set({ settings: merged }).where('id', '=', id).returningAll();
        return toAccount(await changed.executeTakeFirstOrThrow());
      }),
    async addOverage(id, calls) {
      if (!Number.isSafeInteger(calls) || calls < 1 || calls > 1e12)
        throw new StoreError('STORE_SETTINGS', 'overage calls must be a whole number above 0');
      const added = db
        .updateTable('accounts')
        .set({ overage_left: sql`overage_left + ${calls}` })
        .where('id', '=', id)
        .returningAll();
      const row = await added.executeTakeFirst();
      if (!row) throw missing(id);
      return toAccount(row);
    },
  };
}

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
        .where('month', '=', formatMonth(at))
        .executeTakeFirst();
      const plan = plans.get(account.plan);
      const used = plan.trialDays === null ? (usage?.used ?? 0) : account.trial_used;
      const quota = computeQuota(plan, used, account.overage_left, at);
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

/**
 * Refuses plans that lack one which accounts have: each of their calls would end as a 500.
 *
 * @throws StoreError STORE_SETTINGS that names them and says what to do
 */
export async function requirePlansInUse({ db, plans }: Pick<Connection, 'db' | 'plans'>): Promise<void> {
  const there = new Set(plans.all.map(({ name }) => name));
  const used = await db
    .selectFrom('accounts')
    .select((select) => ['plan', select.fn.countAll<number>().as('accounts')])
    .groupBy('plan')
    .orderBy('plan')
    .execute();
  const lacking = used.filter(({ plan }) => !there.has(plan)).map(({ plan, accounts }) => `"${plan}" (${accounts})`);
  if (lacking.length === 0) return;
  throw new StoreError(
    'STORE_SETTINGS',
    `accounts have plans that the plans file lacks: ${lacking.join(', ')}; put them back, or move these accounts to another plan with "portcullis admin plan set"`,
  );
}
