import { setImmediate } from 'node:timers/promises';
import { type Kysely, type SqlBool, sql } from 'kysely';
import type { Connection } from '../sql/connection.js';
import type { EvidenceOwn } from '../sql/evidence.js';
import { filterConditions, rareValue, searched } from '../sql/evidence-filter.js';
import { type Found, searchInSteps } from '../sql/search-steps.js';
import type { EvidenceRow, Tables } from '../sql/tables.js';
import { foldText } from './fold-text.js';
import { type Search, searchCandidates } from './search-candidates.js';

const firstBatch = 64;
const leastBatch = 4;
const mostBatch = 2_048;
const quickMs = 4;
const slowMs = 12;

/** Reads records and compares. */
const compare = (
  db: Kysely<Tables>,
  it: Search,
  places: readonly number[],
  limit: number,
): Promise<readonly EvidenceRow[]> =>
  db
    .selectFrom('evidence')
    .selectAll()
    .where(sql<SqlBool>`seq IN (SELECT value FROM json_each(${JSON.stringify(places)}))`)
    .where((where) => where.and(filterConditions(where, it.accountId, it.filter)))
    .where(sql<SqlBool>`text_contains(text, ${foldText(it.text)})`)
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute();

/** One stretch of a search, newest first: a few records at a time, since a text may be short or a megabyte. */
const stretch = async (db: Kysely<Tables>, it: Search, limit: number, isOver: () => boolean): Promise<Found> => {
  const candidates = await searchCandidates(db, it);
  const rows: EvidenceRow[] = [];
  let batch = firstBatch;
  for (let at = 0; at < candidates.length; ) {
    const before = performance.now();
    const places = candidates.slice(at, at + batch);
    rows.push(...(await compare(db, it, places, limit - rows.length)));
    at += places.length;
    const low = candidates[at - 1] ?? it.low;
    if (rows.length >= limit || (isOver() && at < candidates.length)) return { rows, low };
    const took = performance.now() - before;
    if (took < quickMs) batch = Math.min(mostBatch, batch * 2);
    else if (took > slowMs) batch = Math.max(leastBatch, batch / 2);
    if (took > quickMs) await setImmediate();
  }
  return { rows, low: it.low };
};

/** Where a stretch of `size` records below `high` begins, of the account's or of those that have the filter's rare value; 0 at the end. */
const lowOf = async (
  db: Kysely<Tables>,
  { accountId, filter }: Pick<Search, 'accountId' | 'filter'>,
  high: number,
  size: number,
): Promise<number> => {
  const rows = db
    .selectFrom('evidence')
    .select('seq')
    .where((where) => where.and(filterConditions(where, accountId, rareValue(filter) ?? {})))
    .where('seq', '<', high);
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
      lowOf: (high: number, size: number) => lowOf(db, search, high, size),
      stretch: (low: number, high: number, most: number, isOver: () => boolean) =>
        stretch(db, { ...search, low, high }, most, isOver),
    };
    return searchInSteps(steps, from, limit);
  };
}
