import { randomBytes } from 'node:crypto';
import type { Webhook, WebhookEvent, WebhookStore } from '../../operations-store.js';
import { randomId, sealed, unsealed } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Queries } from '../connection.js';
import type { Tables } from '../tables.js';

const SHOWN = ['id', 'accountId', 'url', 'events', 'createdAt'] as const;

const toWebhook = (row: Omit<Tables['webhooks'], 'secret'>): Webhook => ({
  ...row,
  events: row.events.split(' ') as readonly WebhookEvent[],
});

const missing = (id: string): StoreError => new StoreError('STORE_NOT_FOUND', `no webhook "${id}" in this account`);

export const webhooks: Queries<WebhookStore> = {
  async create({ db, now, pepper }, accountId, url, events) {
    // As Standard Webhooks has it.
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const row = { id: randomId('hook'), accountId, url, events: events.join(' '), createdAt: now() };
    await db
      .insertInto('webhooks')
      .values({ ...row, secret: sealed(secret, pepper) })
      .execute();
    return { ...toWebhook(row), secret };
  },
  async list({ db }, accountId) {
    const rows = db.selectFrom('webhooks').select(SHOWN).where('accountId', '=', accountId);
    return (await rows.orderBy('createdAt').orderBy('id').execute()).map(toWebhook);
  },
  remove: ({ transaction }, accountId, id) =>
    transaction(async (inside) => {
      const gone = inside.deleteFrom('webhooks').where('accountId', '=', accountId).where('id', '=', id);
      if (!(await gone.returning('id').executeTakeFirst())) throw missing(id);
      await inside.deleteFrom('webhookDeliveries').where('webhookId', '=', id).execute();
    }),
  async deliveries({ db }, accountId, id, limit) {
    const own = db.selectFrom('webhooks').select('id').where('accountId', '=', accountId).where('id', '=', id);
    if (!(await own.executeTakeFirst())) throw missing(id);
    const rows = db.selectFrom('webhookDeliveries').selectAll().where('webhookId', '=', id);
    return rows.orderBy('createdAt', 'desc').orderBy('id').limit(limit).execute();
  },
  async all({ db }) {
    return (await db.selectFrom('webhooks').select(SHOWN).orderBy('id').execute()).map(toWebhook);
  },
  async send({ db, now }, webhookId, event, body) {
    const at = now();
    const delivery = {
      ...{ id: randomId('msg'), webhookId, event, body, status: 'pending' as const, attempts: 0 },
      ...{ dueAt: at, lastStatus: null, lastError: null, createdAt: at, settledAt: null },
    };
    await db.insertInto('webhookDeliveries').values(delivery).execute();
  },
  async take({ db, now, pepper }, leaseMs, except = []) {
    const at = now();
    for (;;) {
      const waiting = db
        .selectFrom('webhookDeliveries')
        .innerJoin('webhooks', 'webhooks.id', 'webhookDeliveries.webhookId')
        .selectAll('webhookDeliveries')
        .select(['webhooks.accountId', 'webhooks.url', 'webhooks.secret'])
        .where('dueAt', '<=', at);
      const own = except.length === 0 ? waiting : waiting.where('webhooks.accountId', 'not in', except);
      const due = await own.orderBy('dueAt').limit(1).executeTakeFirst();
      if (!due) return undefined;
      const attempts = due.attempts + 1;
      const taken = db.updateTable('webhookDeliveries').set({ dueAt: at + leaseMs, attempts });
      const mine = taken.where('id', '=', due.id).where('attempts', '=', due.attempts).returning('id');
      // Where another server was faster: the next one.
      if (await mine.executeTakeFirst()) return { ...due, attempts, secret: unsealed(due.secret, pepper) };
    }
  },
  async settle({ db, now }, id, { delivered, status, error, retryAt }) {
    const isSettled = delivered || retryAt === null;
    const outcome = {
      status: delivered ? ('delivered' as const) : isSettled ? ('failed' as const) : ('pending' as const),
      ...{ dueAt: isSettled ? null : retryAt, settledAt: isSettled ? now() : null },
      ...{ lastStatus: status, lastError: error },
    };
    await db.updateTable('webhookDeliveries').set(outcome).where('id', '=', id).execute();
  },
  async purge({ db }, before) {
    const old = db.deleteFrom('webhookDeliveries').where('dueAt', 'is', null).where('createdAt', '<', before);
    await old.execute();
  },
};
