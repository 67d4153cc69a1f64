import { sql, type UpdateObject } from 'kysely';
import type { Overlay } from '../../../engine/rules/pack/overlay-schema.js';
import type {
  Account,
  AccountSettings,
  AccountStore,
  OverlayStore,
  OverlayVersion,
  UsageStore,
} from '../../account-store.js';
import { computeQuota, formatMonth, type Plans, trialEnded } from '../../plans.js';
import { randomId } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Connection, Queries } from '../connection.js';
import type { Tables } from '../tables.js';

const DAY_MS = 86_400_000;
const defaultSettings: AccountSettings = { verdictForm: 'extended', retentionDays: 90, keep: 'whole' };

type KeptWithSettings = Pick<Account, 'overlay' | 'flowPolicy'>;

/** An account as callers see it. */
export function toAccount(row: Tables['accounts']): Account {
  const { id, name, plan, trialEndsAt, trialUsed, overageLeft, createdAt } = row;
  const {
    overlay = null,
    flowPolicy = null,
    ...given
  }: Partial<AccountSettings & KeptWithSettings> = JSON.parse(row.settings);
  const settings = { ...defaultSettings, ...given };
  return { id, name, plan, trialEndsAt, trialUsed, overageLeft, settings, overlay, flowPolicy, createdAt };
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
  const createdAt = now();
  const fresh = { name, plan, trialEndsAt: trialEnd(plans, plan, createdAt), trialUsed: 0, overageLeft: 0 };
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const number = sql<number>`(SELECT coalesce(max(number), 0) + 1 FROM accounts)`;
    const row = await db
      .insertInto('accounts')
      .values({ id: randomId('acct'), number, ...fresh, settings: '{}', createdAt })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row) return toAccount(row);
  }
  throw new StoreError('STORE_CONFLICT', 'too many accounts are being created at once; try again');
}

/** The row of an account, if it is there. */
export async function findAccount({ db }: Pick<Connection, 'db'>, id: string): Promise<Tables['accounts'] | undefined> {
  return db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
}

async function change(
  { db }: Pick<Connection, 'db'>,
  id: string,
  values: UpdateObject<Tables, 'accounts'>,
): Promise<Account> {
  const row = await db.updateTable('accounts').set(values).where('id', '=', id).returningAll().executeTakeFirst();
  if (!row) throw missing(id);
  return toAccount(row);
}

/**
 * The settings of an account, as JSON. The row is locked by this write before it is read: two changes at once both last.
 *
 * @throws StoreError STORE_NOT_FOUND
 */
async function lockSettings({ db }: Pick<Connection, 'db'>, id: string): Promise<object> {
  const locked = db.updateTable('accounts').set({ settings: sql`settings` }).where('id', '=', id);
  const row = await locked.returning('settings').executeTakeFirst();
  if (!row) throw missing(id);
  return JSON.parse(row.settings) as object;
}

export const accounts: Queries<AccountStore> = {
  create: createAccount,
  async get(connection, id) {
    const row = await findAccount(connection, id);
    return row && toAccount(row);
  },
  async find({ db }, idOrName) {
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
  async list({ db }) {
    return (await db.selectFrom('accounts').selectAll().orderBy('number').execute()).map(toAccount);
  },
  rename: (connection, id, name) => change(connection, id, { name }),
  async setPlan(connection, id, plan) {
    const { plans, now } = connection;
    plans.get(plan);
    const account = await findAccount(connection, id);
    if (!account) throw missing(id);
    // Going back to a trial doesn't start another one.
    return change(connection, id, { plan, trialEndsAt: account.trialEndsAt ?? trialEnd(plans, plan, now()) });
  },
  setTrialEnd: (connection, id, at) => change(connection, id, { trialEndsAt: at }),
  setSettings: ({ transaction }, id, settings) =>
    transaction(async (db) => {
      const merged = { ...(await lockSettings({ db }, id)), ...settings };
      return change({ db }, id, { settings: JSON.stringify(merged) });
    }),
  async addOverage(connection, id, calls) {
    if (!Number.isSafeInteger(calls) || calls < 1 || calls > 1e12)
      throw new StoreError('STORE_SETTINGS', 'overage calls must be a whole number above 0');
    return change(connection, id, { overageLeft: sql<number>`overage_left + ${calls}` });
  },
};

/** Usage so far; charging is each database's own. */
export const usage: Queries<Omit<UsageStore, 'charge'>> = {
  async quota(connection, accountId, at) {
    const { db, plans } = connection;
    const account = await findAccount(connection, accountId);
    if (!account) throw missing(accountId);
    const month = db.selectFrom('usageMonths').select('used').where('accountId', '=', accountId);
    const counted = await month.where('month', '=', formatMonth(at)).executeTakeFirst();
    const plan = plans.get(account.plan);
    const used = plan.trialDays === null ? (counted?.used ?? 0) : account.trialUsed;
    const quota = computeQuota(plan, used, account.overageLeft, at);
    return trialEnded(plan, account.trialEndsAt, at) ? { ...quota, remaining: 0 } : quota;
  },
  async months({ db }, accountId, limit) {
    const rows = db.selectFrom('usageMonths').select(['month', 'used', 'overageUsed']);
    return rows.where('accountId', '=', accountId).orderBy('month', 'desc').limit(limit).execute();
  },
};

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
  const lacking = used.filter(({ plan }) => !there.has(plan)).map((it) => `"${it.plan}" (${it.accounts})`);
  if (lacking.length === 0) return;
  throw new StoreError(
    'STORE_SETTINGS',
    `accounts have plans that the plans file lacks: ${lacking.join(', ')}; put them back, or move these accounts to another plan with "portcullis admin plan set"`,
  );
}

const SHOWN = ['number', 'source', 'overlay', 'note', 'rulesVersion', 'actor', 'createdAt'] as const;

const toVersion = (row: Pick<Tables['accountOverlays'], (typeof SHOWN)[number]>): OverlayVersion => ({
  ...row,
  overlay: JSON.parse(row.overlay) as Overlay,
});

/** Overlays of accounts. The one in force stands with the account's settings too: a call reads no other row. */
export const overlays: Queries<OverlayStore> = {
  apply: ({ now, transaction }, accountId, { source, overlay, note, rulesVersion, actor }) =>
    transaction(async (db) => {
      // The account's row is locked first: two changes at once get two numbers.
      const settings = await lockSettings({ db }, accountId);
      const last = db.selectFrom('accountOverlays').select(({ fn }) => fn.max('number').as('number'));
      const newest = await last.where('accountId', '=', accountId).executeTakeFirst();
      const number = Number(newest?.number ?? 0) + 1;
      const version = { number, source, overlay, note, rulesVersion, actor, createdAt: now() };
      await db
        .insertInto('accountOverlays')
        .values({ ...version, accountId, overlay: JSON.stringify(overlay) })
        .execute();
      const changed = db
        .updateTable('accounts')
        .set({ settings: JSON.stringify({ ...settings, overlay: { number, overlay } }) });
      await changed.where('id', '=', accountId).execute();
      return version;
    }),
  async list({ db }, accountId, limit) {
    const rows = db.selectFrom('accountOverlays').select(SHOWN).where('accountId', '=', accountId);
    return (await rows.orderBy('number', 'desc').limit(limit).execute()).map(toVersion);
  },
};
