import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import type { EvidenceFilter } from '../evidence-store.js';
import type { Connection } from '../sql/connection.js';
import type { EvidenceOwn } from '../sql/evidence.js';
import { filterConditions, hasRareValue, searched } from '../sql/evidence-filter.js';
import { searchInSteps } from '../sql/search-steps.js';
import type { EvidenceRow, Tables } from '../sql/tables.js';
import { searchQuery } from './search-index.js';

/** What is looked for, in places from `low` (inclusive) to `high` (exclusive). */
interface Search {
  readonly accountId: string;
  readonly number: number;
  readonly filter: EvidenceFilter;
  readonly text: string;
  readonly low: number;
  readonly high: number;
  readonly limit: number;
}

const conditions = (where: ExpressionBuilder<Tables, 'evidence'>, it: Search): Expression<SqlBool>[] => [
  ...filterConditions(where, it.accountId, it.filter),
  where('evidence.seq', '>=', it.low),
  where('evidence.seq', '<', it.high),
];

/** Reads the records themselves and compares. */
const read = (
  db: Kysely<Tables>,
  it: Search,
  ...more: readonly Expression<SqlBool>[]
): Promise<readonly EvidenceRow[]> =>
  db
    .selectFrom('evidence')
    .selectAll()
    .where((where) => where.and([...conditions(where, it), ...more]))
    .where(sql<SqlBool>`text_contains(text, ${it.text.toLowerCase()})`)
    .orderBy('seq', 'desc')
    .limit(it.limit)
    .execute();

/** Reads what the index doesn't have yet: records past its mark, and late ones. */
const readFresh = async (db: Kysely<Tables>, it: Search): Promise<readonly EvidenceRow[]> => {
  const mark = (await db.selectFrom('evidence_indexed').select('seq').executeTakeFirst())?.seq ?? 0;
  const past = it.high > mark + 1 ? await read(db, { ...it, low: Math.max(it.low, mark + 1) }) : [];
  const late = sql<SqlBool>`seq IN (SELECT seq FROM evidence_unsearched WHERE seq >= ${it.low} AND seq < ${it.high})`;
  return [...past, ...(await read(db, it, late))];
};

/** Asks the index, in the order of the list; a walk that ends with the page. */
const lookUp = (db: Kysely<Tables>, it: Search): Promise<readonly EvidenceRow[]> =>
  db
    .selectFrom(sql<{ rowid: number }>`evidence_search`.as('found'))
    .crossJoin('evidence')
    .selectAll('evidence')
    .where(sql<SqlBool>`evidence.seq = found.rowid`)
    .where(sql<SqlBool>`evidence_search MATCH ${searchQuery(it.number, it.text)}`)
    .where('found.rowid', '>=', it.low)
    .where('found.rowid', '<', it.high)
    .where((where) => where.and(filterConditions(where as never, it.accountId, it.filter)))
    .orderBy('found.rowid', 'desc')
    .limit(it.limit)
    .execute();

/** One stretch of a search, newest first. */
const stretch = async (db: Kysely<Tables>, it: Search): Promise<readonly EvidenceRow[]> => {
  // Few records have the value: they are read sooner than the index is asked.
  if (hasRareValue(it.filter)) return read(db, it);
  // In this order: a record that is indexed between the two is found twice rather than never.
  const fresh = await readFresh(db, it);
  const old = await lookUp(db, it);
  const both = new Map([...old, ...fresh].map((row) => [row.seq, row]));
  return [...both.values()].sort((a, b) => b.seq - a.seq);
};

/** Where a stretch of `size` of the account's records below `high` begins; 0 at the end. */
const lowOf = async (db: Kysely<Tables>, accountId: string, high: number, size: number): Promise<number> => {
  const rows = db.selectFrom('evidence').select('seq').where('account_id', '=', accountId).where('seq', '<', high);
  return (await rows.orderBy('seq', 'desc').offset(size).limit(1).executeTakeFirst())?.seq ?? 0;
};

/** Lists of evidence, newest first. `seq` is the row's number, so a list is a walk along an index. */
export function embeddedPage({ db }: Connection): EvidenceOwn['page'] {
  return async (accountId, filter, after, limit) => {
    const text = searched(filter);
    const from = after?.seq ?? Number.MAX_SAFE_INTEGER;
    if (text === undefined) {
      const rows = db
        .selectFrom('evidence')
        .selectAll()
        .where((where) => where.and([...filterConditions(where, accountId, filter), where('seq', '<', from)]));
      return { rows: await rows.orderBy('seq', 'desc').limit(limit).execute(), stoppedAt: null };
    }
    const account = await db.selectFrom('accounts').select('number').where('id', '=', accountId).executeTakeFirst();
    if (!account) return { rows: [], stoppedAt: null };
    const search = { accountId, number: account.number, filter, text };
    const steps = {
      lowOf: (high: number, size: number) => lowOf(db, accountId, high, size),
      stretch: (low: number, high: number, most: number) => stretch(db, { ...search, low, high, limit: most }),
    };
    return searchInSteps(steps, from, limit);
  };
}
