import { setImmediate } from 'node:timers/promises';
import { type Kysely, type SqlBool, sql } from 'kysely';
import type { EvidenceFilter } from '../evidence-store.js';
import type { Connection } from '../sql/connection.js';
import type { EvidenceOwn } from '../sql/evidence/evidence.js';
import { filterConditions, rareValue, searched } from '../sql/evidence/evidence-filter.js';
import { type Found, searchInSteps, type Window } from '../sql/evidence/search-steps.js';
import type { EvidenceRow, Tables } from '../sql/tables.js';
import { foldText, type SearchTerm, searchTerms } from './search-terms.js';

/** What is looked for. */
interface Search {
  readonly accountId: string;
  readonly filter: EvidenceFilter;
  readonly folded: string;
  /** The rarest first. */
  readonly terms: readonly SearchTerm[];
}

const FIRST_BATCH = 64;
const LEAST_BATCH = 4;
const MOST_BATCH = 2_048;
const QUICK_MS = 4;
const SLOW_MS = 12;
/** So few candidates are read sooner than another list of the index. */
const FEW = 256;
/** A list this many times longer than the window is worth less than reading the window's records: it lies among others'. */
const MOST_BETWEEN = 4;
/** How frequent a term is, is taken from so many records. */
const SAMPLE = 1_024;

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
    const asked = { accountId, filter, folded: foldText(text), terms: [] };
    // Where few records have another value of the filter they are read sooner than the index.
    const terms = rareValue(filter) ? [] : await rarestFirst(db, asked, searchTerms(text), from);
    const search = { ...asked, terms };
    const steps = {
      lowOf: (high: number, size: number) => findLow(db, search, high, size),
      search: (window: Window, most: number, isOver: () => boolean) => searchWindow(db, search, window, most, isOver),
    };
    return searchInSteps(steps, from, limit);
  };
}

/** Where a window of `size` records below `high` begins, of the account's or of those that have the filter's rare value; 0 at the end. */
async function findLow(db: Kysely<Tables>, { accountId, filter }: Search, high: number, size: number): Promise<number> {
  const rows = db
    .selectFrom('evidence')
    .select('seq')
    .where((where) => where.and(filterConditions(where, accountId, rareValue(filter) ?? {})))
    .where('seq', '<', high);
  return (await rows.orderBy('seq', 'desc').offset(size).limit(1).executeTakeFirst())?.seq ?? 0;
}

/** One window of a search, newest first: a few records at a time, since a text may be short or a megabyte. */
async function searchWindow(
  db: Kysely<Tables>,
  search: Search,
  window: Window,
  limit: number,
  isOver: () => boolean,
): Promise<Found> {
  const places = await candidates(db, search, window);
  const rows: EvidenceRow[] = [];
  let batch = FIRST_BATCH;
  for (let at = 0; at < places.length; ) {
    const before = performance.now();
    const some = places.slice(at, at + batch);
    rows.push(...(await compare(db, search, some, limit - rows.length)));
    at += some.length;
    const low = places[at - 1] ?? window.low;
    if (rows.length >= limit || (isOver() && at < places.length)) return { rows, low };
    const took = performance.now() - before;
    if (took < QUICK_MS) batch = Math.min(MOST_BATCH, batch * 2);
    else if (took > SLOW_MS) batch = Math.max(LEAST_BATCH, batch / 2);
    if (took > QUICK_MS) await setImmediate();
  }
  return { rows, low: window.low };
}

/** Where records may lie that have the text, newest first: all that have it, and others. */
async function candidates(db: Kysely<Tables>, search: Search, window: Window): Promise<readonly number[]> {
  const { low, high } = window;
  if (search.terms.length === 0) return unread(db, search, window);
  // In this order: a record that is indexed meanwhile is found twice rather than never.
  const mark = (await db.selectFrom('evidence_indexed').select('seq').executeTakeFirst())?.seq ?? 0;
  const past = high > mark + 1 ? await unread(db, search, { ...window, low: Math.max(low, mark + 1) }) : [];
  const late = db.selectFrom('evidence_unsearched').select('seq').where('seq', '>=', low).where('seq', '<', high);
  const waiting = (await late.execute()).map(({ seq }) => seq);
  const found = low <= mark ? await indexed(db, search, window) : [];
  if (found === undefined) return unread(db, search, window);
  return [...new Set([...past, ...waiting, ...found])].sort((a, b) => b - a);
}

/** All that fits the rest of the filter. */
async function unread(
  db: Kysely<Tables>,
  { accountId, filter }: Search,
  { low, high }: Pick<Window, 'low' | 'high'>,
): Promise<readonly number[]> {
  const rows = db
    .selectFrom('evidence')
    .select('seq')
    .where((where) => where.and(filterConditions(where, accountId, filter)))
    .where('seq', '>=', low)
    .where('seq', '<', high);
  return (await rows.orderBy('seq', 'desc').execute()).map(({ seq }) => seq);
}

/**
 * Records of whatever account that have the rarest terms; undefined where that narrows nothing down. The lists are read
 * one by one: FTS5's own AND of terms that never meet reads all of the index, whatever the bounds.
 */
async function indexed(db: Kysely<Tables>, { terms }: Search, window: Window): Promise<readonly number[] | undefined> {
  const most = MOST_BETWEEN * window.size;
  let found: readonly number[] | undefined;
  for (const term of terms) {
    if (found !== undefined && found.length <= FEW) break;
    const list = await findPlaces(db, term, window, most);
    if (list.length === most) break;
    const both = new Set(list);
    found = found === undefined ? list : found.filter((seq) => both.has(seq));
  }
  return found;
}

/** The places of a term in a window, in no order; at most `most` of them. */
async function findPlaces(
  db: Kysely<Tables>,
  { table, match }: SearchTerm,
  { low, high }: Pick<Window, 'low' | 'high'>,
  most: number,
): Promise<readonly number[]> {
  const { rows } = await sql<{ seq: number }>`SELECT rowid AS seq FROM ${sql.table(table)}
    WHERE ${sql.table(table)} MATCH ${match} AND rowid >= ${low} AND rowid < ${high} LIMIT ${most}`.execute(db);
  return rows.map(({ seq }) => seq);
}

/** The terms by how many of the newest records below `high` have them. */
async function rarestFirst(
  db: Kysely<Tables>,
  search: Search,
  terms: readonly SearchTerm[],
  high: number,
): Promise<readonly SearchTerm[]> {
  if (terms.length < 2) return terms;
  const low = await findLow(db, search, high, SAMPLE);
  const counted: (readonly [SearchTerm, number])[] = [];
  for (const term of terms)
    counted.push([term, (await findPlaces(db, term, { low, high }, MOST_BETWEEN * SAMPLE)).length]);
  return counted.sort(([, a], [, b]) => a - b).map(([term]) => term);
}

/** Reads records and compares. */
async function compare(
  db: Kysely<Tables>,
  { accountId, filter, folded }: Search,
  places: readonly number[],
  limit: number,
): Promise<readonly EvidenceRow[]> {
  return db
    .selectFrom('evidence')
    .selectAll()
    .where(sql<SqlBool>`seq IN (SELECT value FROM json_each(${JSON.stringify(places)}))`)
    .where((where) => where.and(filterConditions(where, accountId, filter)))
    .where(sql<SqlBool>`text_contains(text, ${folded})`)
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute();
}
