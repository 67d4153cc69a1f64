import type { AuditEntry, AuditStore } from '../../operations-store.js';
import { randomId } from '../../secrets.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';

const toEntry = (row: Tables['audit_log']): AuditEntry => ({
  id: row.id,
  accountId: row.account_id,
  at: row.at,
  actor: row.actor,
  action: row.action,
  target: row.target,
  detail: JSON.parse(row.detail) as AuditEntry['detail'],
});

/** The characters that LIKE reads as something else. */
const literal = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

/** The audit log in SQL. */
export function sqlAudit({ db, now }: Connection): AuditStore {
  return {
    async add({ accountId, actor, action, target, detail }) {
      const row = { id: randomId('audit'), account_id: accountId, at: now(), actor, action, target };
      await db
        .insertInto('audit_log')
        .values({ ...row, detail: JSON.stringify(detail) })
        .execute();
    },
    async list(accountId, { actor, action, from, to }, after, limit) {
      let rows = db.selectFrom('audit_log').selectAll().where('account_id', '=', accountId);
      if (actor !== undefined && actor !== '') rows = rows.where('actor', 'like', `%${literal(actor.toLowerCase())}%`);
      if (action !== undefined && action !== '')
        rows = rows.where((where) =>
          where.or([where('action', '=', action), where('action', 'like', `${literal(action)}.%`)]),
        );
      if (from !== undefined) rows = rows.where('at', '>=', from);
      if (to !== undefined) rows = rows.where('at', '<', to);
      if (after !== null) {
        const own = db.selectFrom('audit_log').select(['at', 'id']).where('account_id', '=', accountId);
        const last = await own.where('id', '=', after).executeTakeFirst();
        if (last)
          rows = rows.where((where) =>
            where.or([where('at', '<', last.at), where.and([where('at', '=', last.at), where('id', '<', last.id)])]),
          );
      }
      return (await rows.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).execute()).map(toEntry);
    },
  };
}
