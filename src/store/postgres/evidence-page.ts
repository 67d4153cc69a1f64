import { type SqlBool, sql } from 'kysely';
import type { Connection } from '../sql/connection.js';
import type { EvidenceOwn } from '../sql/evidence.js';
import { filterConditions, searched } from '../sql/evidence-filter.js';

/** A part of a text as a pattern of LIKE. */
const pattern = (text: string): string => `%${text.replaceAll('\u0000', ' ').replaceAll(/[\\%_]/g, '\\$&')}%`;

/** Lists of evidence, newest first, and the deletion of old ones. */
export function postgresPage({ db }: Connection): Pick<EvidenceOwn, 'page' | 'deleteBefore'> {
  return {
    async page(accountId, filter, after, limit) {
      const text = searched(filter);
      const rows = await db
        .selectFrom('evidence')
        .selectAll()
        .where((where) => {
          const all = filterConditions(where, accountId, filter);
          if (after) all.push(sql<SqlBool>`(seq, id) < (${after.seq}, ${after.id})`);
          if (text !== undefined) all.push(sql<SqlBool>`text ILIKE ${pattern(text)}`);
          return where.and(all);
        })
        .orderBy('seq', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute();
      return { rows, stoppedAt: null };
    },
    async deleteBefore(accountId, seq, limit) {
      const old = db.selectFrom('evidence').select('id').where('account_id', '=', accountId).where('seq', '<', seq);
      const { numDeletedRows } = await db
        .deleteFrom('evidence')
        .where('id', 'in', old.orderBy('seq').limit(limit))
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  };
}
