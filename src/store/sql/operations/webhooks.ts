import { randomBytes } from 'node:crypto';
import type { Webhook, WebhookDelivery, WebhookEvent, WebhookStore } from '../../operations-store.js';
import { randomId, sealed, unsealed } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';

const toWebhook = (row: Omit<Tables['webhooks'], 'secret'>): Webhook => ({
  id: row.id,
  accountId: row.account_id,
  url: row.url,
  events: row.events.split(' ') as readonly WebhookEvent[],
  createdAt: row.created_at,
});

const toDelivery = (row: Tables['webhook_deliveries']): WebhookDelivery => ({
  id: row.id,
  webhookId: row.webhook_id,
  event: row.event as WebhookEvent,
  body: row.body,
  status: row.status as WebhookDelivery['status'],
  attempts: row.attempts,
  dueAt: row.due_at,
  lastStatus: row.last_status,
  lastError: row.last_error,
  createdAt: row.created_at,
  settledAt: row.settled_at,
});

const COLUMNS = ['id', 'account_id', 'url', 'events', 'created_at'] as const;
const missing = (id: string): StoreError => new StoreError('STORE_NOT_FOUND', `no webhook "${id}" in this account`);

/** Webhooks in SQL. */
export function sqlWebhooks({ db, now, pepper, transaction }: Connection): WebhookStore {
  const own = (accountId: string, id: string) =>
    db.selectFrom('webhooks').select(COLUMNS).where('account_id', '=', accountId).where('id', '=', id);
  return {
    async create(accountId, url, events) {
      // As Standard Webhooks has it.
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      const row = { id: randomId('hook'), account_id: accountId, url, events: events.join(' '), created_at: now() };
      await db
        .insertInto('webhooks')
        .values({ ...row, secret: sealed(secret, pepper) })
        .execute();
      return { ...toWebhook(row), secret };
    },
    async list(accountId) {
      const rows = db.selectFrom('webhooks').select(COLUMNS).where('account_id', '=', accountId);
      return (await rows.orderBy('created_at').orderBy('id').execute()).map(toWebhook);
    },
    remove: (accountId, id) =>
      transaction(async (inside) => {
        const gone = inside.deleteFrom('webhooks').where('account_id', '=', accountId).where('id', '=', id);
        if (!(await gone.returning('id').executeTakeFirst())) throw missing(id);
        await inside.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute();
      }),
    async deliveries(accountId, id, limit) {
      if (!(await own(accountId, id).executeTakeFirst())) throw missing(id);
      const rows = db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', id);
      const some = await rows.orderBy('created_at', 'desc').orderBy('id').limit(limit).execute();
      return some.map(toDelivery);
    },
    async all() {
      return (await db.selectFrom('webhooks').select(COLUMNS).orderBy('id').execute()).map(toWebhook);
    },
    async send(webhookId, event, body) {
      const at = now();
      await db
        .insertInto('webhook_deliveries')
        .values({
          ...{ id: randomId('msg'), webhook_id: webhookId, event, body, status: 'pending', attempts: 0 },
          ...{ due_at: at, last_status: null, last_error: null, created_at: at, settled_at: null },
        })
        .execute();
    },
    async take(leaseMs, except = []) {
      const at = now();
      for (;;) {
        const waiting = db
          .selectFrom('webhook_deliveries')
          .innerJoin('webhooks', 'webhooks.id', 'webhook_deliveries.webhook_id')
          .selectAll('webhook_deliveries')
          .select(['webhooks.account_id as accountId', 'webhooks.url as url', 'webhooks.secret as secret'])
          .where('due_at', '<=', at);
        const own = except.length === 0 ? waiting : waiting.where('webhooks.account_id', 'not in', except);
        const due = await own.orderBy('due_at').limit(1).executeTakeFirst();
        if (!due) return undefined;
        const taken = await db
          .updateTable('webhook_deliveries')
          .set({ due_at: at + leaseMs, attempts: due.attempts + 1 })
          .where('id', '=', due.id)
          .where('attempts', '=', due.attempts)
          .returning('attempts')
          .executeTakeFirst();
        // Another server was faster: the next one.
        if (!taken) continue;
        const { accountId, url, secret } = due;
        return { ...toDelivery({ ...due, ...taken }), accountId, url, secret: unsealed(secret, pepper) };
      }
    },
    async settle(id, { delivered, status, error, retryAt }) {
      const isSettled = delivered || retryAt === null;
      await db
        .updateTable('webhook_deliveries')
        .set({
          status: delivered ? 'delivered' : isSettled ? 'failed' : 'pending',
          due_at: isSettled ? null : retryAt,
          last_status: status,
          last_error: error,
          settled_at: isSettled ? now() : null,
        })
        .where('id', '=', id)
        .execute();
    },
    async purge(before) {
      const old = db.deleteFrom('webhook_deliveries').where('due_at', 'is', null).where('created_at', '<', before);
      await old.execute();
    },
  };
}
