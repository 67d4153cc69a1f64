import { type Kysely, sql } from 'kysely';
import type { EvidenceFilter } from '../evidence-store.js';
import { filterConditions, rareValue } from '../sql/evidence-filter.js';
import type { Tables } from '../sql/tables.js';
import { searchQuery } from './search-query.js';

/** What is looked for, in places from `low` (inclusive) to `high` (exclusive). */
export interface Search {
  readonly accountId: string;
  readonly number: number;
  readonly filter: EvidenceFilter;
  readonly text: string;
  readonly low: number;
  readonly high: number;
}

/** All that fits the rest of the filter. */
const unread = async (db: Kysely<Tables>, it: Search): Promise<readonly number[]> => {
  const rows = db
    .selectFrom('evidence')
    .select('seq')
    .where((where) => where.and(filterConditions(where, it.accountId, it.filter)))
    .where('seq', '>=', it.low)
    .where('seq', '<', it.high);
  return (await rows.orderBy('seq', 'desc').execute()).map(({ seq }) => seq);
};

const late = async (db: Kysely<Tables>, { low, high }: Search): Promise<readonly number[]> => {
  const rows = db.selectFrom('evidence_unsearched').select('seq').where('seq', '>=', low).where('seq', '<', high);
  return (await rows.execute()).map(({ seq }) => seq);
};

const indexed = async (db: Kysely<Tables>, { number, text, low, high }: Search): Promise<readonly number[]> => {
  const stretches = db
    .selectFrom('evidence_stretches')
    .select(['id', 'late', 'records', 'first', 'last'])
    .where('account', '=', number);
  const found: number[] = [];
  for (const spread of await stretches.where('low', '<', high).where('high', '>=', low).execute()) {
    const rows = await sql<{ seq: number }>`SELECT rowid AS seq FROM evidence_search
      WHERE evidence_search MATCH ${searchQuery(spread, text)} AND rowid >= ${low} AND rowid < ${high}`.execute(db);
    for (const { seq } of rows.rows) found.push(seq);
  }
  return found;
};

/** Where records may lie that have the text, newest first: all that have it, and others. */
export async function searchCandidates(db: Kysely<Tables>, it: Search): Promise<readonly number[]> {
  // Few records have the value: they are read sooner than the index is asked.
  if (rareValue(it.filter)) return unread(db, it);
  // In this order: a record that is indexed meanwhile is found twice rather than never.
  const mark = (await db.selectFrom('evidence_indexed').select('seq').executeTakeFirst())?.seq ?? 0;
  const past = it.high > mark + 1 ? await unread(db, { ...it, low: Math.max(it.low, mark + 1) }) : [];
  const all = new Set([...past, ...(await late(db, it)), ...(it.low <= mark ? await indexed(db, it) : [])]);
  return [...all].sort((a, b) => b - a);
}
