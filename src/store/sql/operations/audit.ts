import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { AuditEntry, AuditStore } from '../../operations-store.js';
import { randomId } from '../../secrets.js';
import type { Queries } from '../connection.js';

/**
 * Whether a column is like a text, as it is written or regardless of case, with something before or after it. SQLite folds the
 * letters A to Z alone, and has no escape character of its own.
 */
function like(column: 'actor' | 'action', before: '%' | '', text: string, after: string): RawBuilder<SqlBool> {
  const pattern = `${before}${text.replace(/[\\%_]/g, '\\$&')}${after}`;
  const written = sql.ref(column);
  return sql`(${written} LIKE ${pattern} ESCAPE '\\' OR lower(${written}) LIKE ${pattern.toLowerCase()} ESCAPE '\\')`;
}

export const audit: Queries<AuditStore> = {
  async add({ db, now }, { accountId, actor, action, target, detail }) {
    const entry = { id: randomId('audit'), accountId, at: now(), actor, action, target };
    await db
      .insertInto('auditLog')
      .values({ ...entry, detail: JSON.stringify(detail) })
      .execute();
  },
  async list({ db }, accountId, { actor, action, from, to }, after, limit) {
    const own = db.selectFrom('auditLog').selectAll().where('accountId', '=', accountId);
    let rows = own;
    if (actor !== undefined && actor !== '') rows = rows.where(like('actor', '%', actor, '%'));
    if (action !== undefined && action !== '')
      rows = rows.where((where) => where.or([where('action', '=', action), like('action', '', action, '.%')]));
    if (from !== undefined) rows = rows.where('at', '>=', from);
    if (to !== undefined) rows = rows.where('at', '<', to);
    const last = after === null ? undefined : await own.where('id', '=', after).executeTakeFirst();
    if (last)
      rows = rows.where((where) =>
        where.or([where('at', '<', last.at), where.and([where('at', '=', last.at), where('id', '<', last.id)])]),
      );
    const entries = await rows.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).execute();
    return entries.map((entry) => ({ ...entry, detail: JSON.parse(entry.detail) as AuditEntry['detail'] }));
  },
};
