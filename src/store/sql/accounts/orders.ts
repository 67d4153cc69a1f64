import { type Kysely, sql } from 'kysely';
import type { Order, OrderItem, OrderStore } from '../../account-store.js';
import type { Plans } from '../../plans.js';
import { randomId } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Connection, Queries } from '../connection.js';
import type { Tables } from '../tables.js';

const toOrder = (row: Tables['orders']): Order => ({ ...row, item: JSON.parse(row.item) as OrderItem });

/** @throws StoreError for what can't be sold, such as a trial: it is had once, and not bought */
function requireSold(plans: Plans, item: OrderItem): void {
  if (item.kind === 'plan') {
    if (plans.get(item.plan).trialDays !== null)
      throw new StoreError('STORE_SETTINGS', `the plan "${item.plan}" is a trial and can't be ordered`);
  } else if (!Number.isInteger(item.packs) || item.packs < 1 || item.packs > 1000)
    throw new StoreError('STORE_SETTINGS', 'packs must be a whole number from 1 to 1000');
}

async function grant(db: Kysely<Tables>, plans: Plans, { accountId, item }: Order): Promise<void> {
  requireSold(plans, item);
  const account = db.updateTable('accounts').where('id', '=', accountId);
  if (item.kind === 'plan') await account.set({ plan: item.plan }).execute();
  else await account.set({ overageLeft: sql`overage_left + ${item.packs * plans.overagePackCalls}` }).execute();
}

async function find(
  { db }: Pick<Connection, 'db'>,
  by: 'id' | 'externalId',
  value: string,
): Promise<Order | undefined> {
  const row = await db.selectFrom('orders').selectAll().where(by, '=', value).executeTakeFirst();
  return row && toOrder(row);
}

export const orders: Queries<OrderStore> = {
  async create(connection, accountId, item, externalId) {
    const { db, plans, now } = connection;
    requireSold(plans, item);
    const row = {
      ...{ id: randomId('order'), accountId, item: JSON.stringify(item), status: 'pending' as const },
      ...{ externalId: externalId ?? null, createdAt: now(), settledAt: null },
    };
    const made = db
      .insertInto('orders')
      .values(row)
      .onConflict((conflict) => conflict.doNothing());
    if (await made.returning('id').executeTakeFirst()) return toOrder(row);
    const there = externalId === undefined ? undefined : await find(connection, 'externalId', externalId);
    if (there?.accountId === accountId) return there;
    throw new StoreError('STORE_CONFLICT', 'another order has this external id');
  },
  get: (connection, id) => find(connection, 'id', id),
  async list({ db }, accountId) {
    const all = db.selectFrom('orders').selectAll().orderBy('createdAt', 'desc').orderBy('id');
    const rows = accountId === undefined ? all : all.where('accountId', '=', accountId);
    return (await rows.execute()).map(toOrder);
  },
  settle: ({ plans, now, transaction }, id, status) =>
    transaction(async (db) => {
      const pending = db.updateTable('orders').set({ status, settledAt: now() }).where('id', '=', id);
      const row = await pending.where('status', '=', 'pending').returningAll().executeTakeFirst();
      const order = row === undefined ? await find({ db }, 'id', id) : toOrder(row);
      if (order === undefined) throw new StoreError('STORE_NOT_FOUND', `no order "${id}"`);
      if (row !== undefined && status !== 'rejected') await grant(db, plans, order);
      return order;
    }),
  async seeEvent({ db, now }, provider, eventId) {
    const seen = db.insertInto('seenEvents').values({ provider, eventId, seenAt: now() });
    const row = await seen
      .onConflict((conflict) => conflict.doNothing())
      .returning('eventId')
      .executeTakeFirst();
    return row !== undefined;
  },
};
