import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { EvidenceFilter } from '../evidence-store.js';
import type { Connection } from '../sql/connection.js';
import type { EvidenceOwn } from '../sql/evidence.js';
import { filterConditions, type Place, searched } from '../sql/evidence-filter.js';
import type { EvidenceRow, Tables } from '../sql/tables.js';
import { searchQuery } from './search-index.js';

/** Lists of evidence, newest first. `seq` is the row's number, so a list is a walk along an index. */
export function embeddedPage({ db }: Connection): EvidenceOwn['page'] {
  const conditions =
    (accountId: string, filter: EvidenceFilter, after: Place | null) =>
    (where: ExpressionBuilder<Tables, 'evidence'>) => {
      const all: Expression<SqlBool>[] = filterConditions(where, accountId, filter);
      if (after) all.push(where('evidence.seq', '<', after.seq));
      return where.and(all);
    };

  /** From the index: what matches comes in the order of the list, and the walk ends with the page. */
  const indexed = async (
    accountId: string,
    filter: EvidenceFilter,
    after: Place | null,
    limit: number,
    text: string,
  ): Promise<readonly EvidenceRow[]> => {
    const account = await db.selectFrom('accounts').select('number').where('id', '=', accountId).executeTakeFirst();
    if (!account) return [];
    const { rows } = await sql<EvidenceRow>`
      SELECT evidence.* FROM evidence_search CROSS JOIN evidence ON evidence.seq = evidence_search.rowid
      WHERE evidence_search MATCH ${searchQuery(account.number, text)}
        AND evidence_search.rowid < ${after?.seq ?? Number.MAX_SAFE_INTEGER}
        AND ${sql.join(plainConditions(accountId, filter), sql` AND `)}
      ORDER BY evidence_search.rowid DESC LIMIT ${limit}`.execute(db);
    return rows;
  };

  const plainConditions = (accountId: string, filter: EvidenceFilter): Expression<SqlBool>[] => {
    let found: Expression<SqlBool>[] = [];
    db.selectFrom('evidence').where((where) => {
      found = filterConditions(where, accountId, filter);
      return where.and(found);
    });
    return found;
  };

  /** What the index doesn't have yet: read and compared. */
  const unsearched = (
    accountId: string,
    filter: EvidenceFilter,
    after: Place | null,
    limit: number,
    text: string,
  ): Promise<readonly EvidenceRow[]> =>
    db
      .selectFrom('evidence')
      .selectAll()
      .where(conditions(accountId, filter, after))
      .where(sql<SqlBool>`seq IN (SELECT seq FROM evidence_unsearched)`)
      .where(sql<SqlBool>`text_contains(text, ${text.toLowerCase()})`)
      .orderBy('seq', 'desc')
      .limit(limit)
      .execute();

  return async (accountId, filter, after, limit) => {
    const text = searched(filter);
    if (text === undefined) {
      const rows = db
        .selectFrom('evidence')
        .selectAll()
        .where(conditions(accountId, filter, after));
      return rows.orderBy('seq', 'desc').limit(limit).execute();
    }
    // In this order: a record that is indexed between the two is found twice rather than never.
    const fresh = await unsearched(accountId, filter, after, limit, text);
    const old = await indexed(accountId, filter, after, limit, text);
    const both = new Map([...old, ...fresh].map((row) => [row.seq, row]));
    return [...both.values()].sort((a, b) => b.seq - a.seq).slice(0, limit);
  };
}
