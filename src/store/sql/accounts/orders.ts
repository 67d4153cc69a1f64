import { type Kysely, sql } from 'kysely';
import type { Order, OrderItem, OrderStore } from '../../account-store.js';
import type { Plans } from '../../plans.js';
import { randomId } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';

const toOrder = (row: Tables['orders']): Order => ({
  id: row.id,
  accountId: row.account_id,
  item: JSON.parse(row.item) as OrderItem,
  status: row.status as Order['status'],
  externalId: row.external_id,
  createdAt: row.created_at,
  settledAt: row.settled_at,
});

const missing = (id: string): StoreError => new StoreError('STORE_NOT_FOUND', `no order "${id}"`);

/** @throws StoreError for a trial: it is had once, and not bought */
const requireSold = (plans: Plans, name: string): void => {
  if (plans.get(name).trialDays !== null)
    throw new StoreError('STORE_SETTINGS', `the plan "${name}" is a trial and can't be ordered`);
};

const grant = async (db: Kysely<Tables>, plans: Plans, { accountId, item }: Order): Promise<void> => {
  if (item.kind === 'plan') requireSold(plans, item.plan);
  const account = db.updateTable('accounts').where('id', '=', accountId);
  if (item.kind === 'plan') await account.set({ plan: item.plan }).execute();
  else await account.set({ overage_left: sql`overage_left + ${item.packs * plans.overagePackCalls}` }).execute();
};

/** Orders in SQL. */
export function sqlOrders({ db, plans, now, transaction }: Connection): OrderStore {
  const byExternalId = async (externalId: string): Promise<Order | undefined> => {
    const row = await db.selectFrom('orders').selectAll().where('external_id', '=', externalId).executeTakeFirst();
    return row && toOrder(row);
  };
  return {
    async create(accountId, item, externalId) {
      if (item.kind === 'plan') requireSold(plans, item.plan);
      else if (!Number.isInteger(item.packs) || item.packs < 1 || item.packs > 1000)
        throw new StoreError('STORE_SETTINGS', 'packs must be a whole number from 1 to 1000');
      const row = {
        id: randomId('order'),
        account_id: accountId,
        item: JSON.stringify(item),
        status: 'pending',
        external_id: externalId ?? null,
        created_at: now(),
        settled_at: null,
      };
      const made = db
        .insertInto('orders')
        .values(row)
        .onConflict((conflict) => conflict.doNothing());
      if (await made.returning('id').executeTakeFirst()) return toOrder(row);
      const there = externalId === undefined ? undefined : await byExternalId(externalId);
      if (there?.accountId === accountId) return there;
      throw new StoreError('STORE_CONFLICT', 'another order has this external id');
    },
    async get(id) {
      const row = await db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toOrder(row);
    },
    findByExternalId: byExternalId,
    async setExternalId(id, externalId) {
      const changed = db.updateTable('orders').set({ external_id: externalId }).where('id', '=', id);
      if (!(await changed.returning('id').executeTakeFirst())) throw missing(id);
    },
    async list(accountId) {
      const all = db.selectFrom('orders').selectAll().orderBy('created_at', 'desc').orderBy('id');
      const rows = accountId === undefined ? all : all.where('account_id', '=', accountId);
      return (await rows.execute()).map(toOrder);
    },
    settle: (id, status) =>
      transaction(async (inside) => {
        const row = await inside
          .updateTable('orders')
          .set({ status, settled_at: now() })
          .where('id', '=', id)
          .where('status', '=', 'pending')
          .returningAll()
          .executeTakeFirst();
        if (row) {
          if (status !== 'rejected') await grant(inside, plans, toOrder(row));
          return toOrder(row);
        }
        const there = await inside.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst();
        if (!there) throw missing(id);
        return toOrder(there);
      }),
    async seeEvent(provider, eventId) {
      const seen = db.insertInto('seen_events').values({ provider, event_id: eventId, seen_at: now() });
      const row = await seen
        .onConflict((conflict) => conflict.doNothing())
        .returning('event_id')
        .executeTakeFirst();
      return row !== undefined;
    },
    async forgetEvent(provider, eventId) {
      const seen = db.deleteFrom('seen_events').where('provider', '=', provider).where('event_id', '=', eventId);
      await seen.execute();
    },
  };
}
