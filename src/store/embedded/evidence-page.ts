import { type Kysely, type SqlBool, sql } from 'kysely';
import type { EvidenceFilter } from '../evidence-store.js';
import { type Connection, evidenceDb } from '../sql/connection.js';
import type { EvidenceOwn } from '../sql/evidence/evidence.js';
import {
  bytesOfRecord,
  countWithin,
  filterConditions,
  isRareChannel,
  type ListedPlace,
  PAGE_BYTES,
  rareValue,
  searched,
} from '../sql/evidence/evidence-filter.js';
import { type Found, type SearchClock, searchInSteps, type Window } from '../sql/evidence/search-steps.js';
import type { EvidenceTables } from '../sql/tables.js';
import type { LongWork } from '../store.js';
import { foldText, type SearchTerm, searchTerms } from './search-terms.js';

interface Search {
  readonly db: Kysely<EvidenceTables>;
  readonly accountId: string;
  readonly filter: EvidenceFilter;
  /** Undefined where the text doesn't matter. */
  readonly folded: string | undefined;
  /** The rarest first. */
  readonly terms: readonly SearchTerm[];
  readonly work: SearchWork;
}

/** The steps of one search, each of which keeps this thread for itself. */
interface SearchWork extends SearchClock {
  run<T>(step: () => T | Promise<T>): Promise<T>;
}

const FIRST_BATCH = 64;
const LEAST_BATCH = 4;
const MOST_BATCH = 1_024;
/** Batches grow while they take less than the first, and shrink where they take more than the second, milliseconds. */
const QUICK_MS = 1;
const SLOW_MS = 3;
/** Bytes of texts that are compared at once: two milliseconds at most. A longer text is compared alone. */
const TEXTS_AT_ONCE = 256 * 1024;
/** A longer text isn't compared before it is known how many bytes that will be, bytes. */
const SHORT_TEXT = 1_024;
/** The cost of a step among the other long work of the process, in bytes. */
const STEP_BYTES = 128 * 1024;
/** So few candidates are read sooner than another list of the index. */
const FEW = 256;
/** A list this many times longer than the window is worth less than reading the window's records: it lies among others'. */
const MOST_BETWEEN = 4;
/** Number of records from which the frequency of a term is estimated. */
const SAMPLE = 1_024;

/** Lists of evidence, newest first. `seq` is the row's number, so a list is a walk along an index. */
export function embeddedPage({ db: all, longWork }: Pick<Connection, 'db' | 'longWork'>): EvidenceOwn['page'] {
  const db = evidenceDb(all);
  return async (accountId, filter, after, limit) => {
    const text = searched(filter);
    const from = after?.seq ?? Number.MAX_SAFE_INTEGER;
    const work = searchWork(longWork, accountId);
    if (text === undefined && hasIndex(filter)) {
      const own = db
        .selectFrom('evidence')
        .select(['seq', 'id', bytesOfRecord.as('bytes')])
        .where((where) => where.and([...filterConditions(where, accountId, filter), where('seq', '<', from)]));
      const places = await work.run(() => own.orderBy('seq', 'desc').limit(limit).execute());
      return { places, stoppedAt: null };
    }
    const asked = { db, accountId, filter, folded: text && foldText(text), terms: [], work };
    // Where few records have another value of the filter they are read sooner than the index.
    const terms = text === undefined || rareValue(filter) ? [] : await rarestFirst(asked, searchTerms(text), from);
    const search = { ...asked, terms };
    const steps = {
      lowOf: (high: number, size: number) => findLow(search, high, size),
      search: (window: Window, most: number, isOver: () => boolean) => searchWindow(search, window, most, isOver),
      clock: work,
      // A list without a text is given whole.
      budgetMs: text === undefined ? Number.POSITIVE_INFINITY : undefined,
    };
    return searchInSteps(steps, from, limit);
  };
}

function searchWork(longWork: LongWork, accountId: string): SearchWork {
  let spent = 0;
  let longest = 0;
  return {
    run: (step) =>
      longWork(accountId, STEP_BYTES, async () => {
        const started = performance.now();
        try {
          return await step();
        } finally {
          const took = performance.now() - started;
          spent += took;
          longest = Math.max(longest, took);
        }
      }),
    spent: () => spent,
    longest() {
      const last = longest;
      longest = 0;
      return last;
    },
  };
}

/** Whether an index has the records of a filter and no others, so that the first of them are found at once. */
function hasIndex({ text: _text, from: _from, to: _to, ...values }: EvidenceFilter): boolean {
  const given = Object.values(values).filter((value) => value !== undefined);
  const { channel, hasTask, keyId } = values;
  const isIndexed = keyId !== undefined || isRareChannel(channel) || hasTask === true;
  return given.length === 0 || (given.length === 1 && (isIndexed || rareValue(values) !== undefined));
}

/** Finds the start of a window of `size` records below `high`, of the account's or of those with the filter's rare value; 0 at the end. */
async function findLow({ db, accountId, filter, work }: Search, high: number, size: number): Promise<number> {
  const rows = db
    .selectFrom('evidence')
    .select('seq')
    .where((where) => where.and(filterConditions(where, accountId, rareValue(filter) ?? {})))
    .where('seq', '<', high);
  const first = await work.run(() => rows.orderBy('seq', 'desc').offset(size).limit(1).executeTakeFirst());
  return first?.seq ?? 0;
}

/** One window of a search, newest first: a few records at a time, since a text may be short or a megabyte. */
async function searchWindow(search: Search, window: Window, limit: number, isOver: () => boolean): Promise<Found> {
  const { folded, work } = search;
  const seqs = await candidates(search, window);
  const found: ListedPlace[] = [];
  let bytes = 0;
  let batch = FIRST_BATCH;
  for (let at = 0; at < seqs.length; ) {
    const some = seqs.slice(at, at + batch);
    const before = work.spent();
    const listed = await work.run(() => compareShort(search, some));
    const took = work.spent() - before;
    at += some.length;
    const known = new Map<number, boolean>();
    for (const [place, one] of listed.entries()) {
      if (folded !== undefined && one.text_bytes > SHORT_TEXT) {
        if (!known.has(one.seq)) {
          if (isOver() && place > 0) return { places: found, low: one.seq + 1 };
          const long = listed.slice(place).filter((it) => it.text_bytes > SHORT_TEXT);
          const group = long.slice(0, countWithin(long, TEXTS_AT_ONCE)).map(({ seq }) => seq);
          const having = new Set(await work.run(() => compareLong(search, folded, group)));
          for (const seq of group) known.set(seq, having.has(seq));
        }
        if (known.get(one.seq) !== true) continue;
      }
      found.push({ seq: one.seq, id: one.id, bytes: one.bytes });
      bytes += one.bytes;
      if (found.length >= limit || bytes > PAGE_BYTES) return { places: found, low: one.seq };
    }
    if (isOver() && at < seqs.length) return { places: found, low: seqs[at - 1] ?? window.low };
    if (took < QUICK_MS) batch = Math.min(MOST_BATCH, batch * 2);
    else if (took > SLOW_MS) batch = Math.max(LEAST_BATCH, batch / 2);
  }
  return { places: found, low: window.low };
}

/** Finds the places of records that may have the text, newest first: all that have it, and others. */
async function candidates(search: Search, window: Window): Promise<readonly number[]> {
  const { low, high } = window;
  const { db, terms, work } = search;
  if (terms.length === 0) return unread(search, window);
  // In this order: a record that is indexed meanwhile is found twice rather than never.
  const indexedTo = db.selectFrom('evidence_indexed').select('seq');
  const mark = (await work.run(() => indexedTo.executeTakeFirst()))?.seq ?? 0;
  const past = high > mark + 1 ? await unread(search, { ...window, low: Math.max(low, mark + 1) }) : [];
  const late = db.selectFrom('evidence_unsearched').select('seq').where('seq', '>=', low).where('seq', '<', high);
  const waiting = (await work.run(() => late.execute())).map(({ seq }) => seq);
  const found = low <= mark ? await indexed(search, window) : [];
  if (found === undefined) return unread(search, window);
  return work.run(() => [...new Set([...past, ...waiting, ...found])].sort((a, b) => b - a));
}

/** All that fits the rest of the filter. */
async function unread(
  { db, accountId, filter, work }: Search,
  { low, high }: Pick<Window, 'low' | 'high'>,
): Promise<readonly number[]> {
  const rows = db
    .selectFrom('evidence')
    .select('seq')
    .where((where) => where.and(filterConditions(where, accountId, filter)))
    .where('seq', '>=', low)
    .where('seq', '<', high);
  return work.run(async () => (await rows.orderBy('seq', 'desc').execute()).map(({ seq }) => seq));
}

/**
 * Records of any account that have the rarest terms; undefined where that narrows nothing down. The lists are read
 * one by one: FTS5's own AND of terms that never meet reads the whole index, regardless of bounds.
 */
async function indexed(search: Search, window: Window): Promise<readonly number[] | undefined> {
  const { terms, work } = search;
  const most = MOST_BETWEEN * window.size;
  let found: readonly number[] | undefined;
  for (const term of terms) {
    if (found !== undefined && found.length <= FEW) break;
    const list = await work.run(() => findPlaces(search, term, window, most));
    if (list.length === most) break;
    if (found === undefined) {
      found = list;
      continue;
    }
    const before = found;
    found = await work.run(() => {
      const both = new Set(list);
      return before.filter((seq) => both.has(seq));
    });
  }
  return found;
}

/** The places of a term in a window, in no order; at most `most` of them. */
async function findPlaces(
  { db }: Search,
  { table, match }: SearchTerm,
  { low, high }: Pick<Window, 'low' | 'high'>,
  most: number,
): Promise<readonly number[]> {
  const { rows } = await sql<{ seq: number }>`SELECT rowid AS seq FROM ${sql.table(table)}
    WHERE ${sql.table(table)} MATCH ${match} AND rowid >= ${low} AND rowid < ${high} LIMIT ${most}`.execute(db);
  return rows.map(({ seq }) => seq);
}

/** The terms by how many of the newest records below `high` have them. */
async function rarestFirst(search: Search, terms: readonly SearchTerm[], high: number): Promise<readonly SearchTerm[]> {
  if (terms.length < 2) return terms;
  const low = await findLow(search, high, SAMPLE);
  const counted: (readonly [SearchTerm, number])[] = [];
  for (const term of terms) {
    const places = await search.work.run(() => findPlaces(search, term, { low, high }, MOST_BETWEEN * SAMPLE));
    counted.push([term, places.length]);
  }
  return counted.sort(([, a], [, b]) => a - b).map(([term]) => term);
}

/** Those that have the text, newest first, and those whose text is too long to be compared at once with others. */
function compareShort({ db, accountId, filter, folded }: Search, seqs: readonly number[]) {
  return db
    .selectFrom('evidence')
    .select(['seq', 'id', bytesOfRecord.as('bytes'), sql<number>`coalesce(octet_length(text), 0)`.as('text_bytes')])
    .where(oneOf(seqs))
    .where((where) => where.and(filterConditions(where, accountId, filter)))
    .$if(folded !== undefined, (rows) =>
      rows.where(sql<SqlBool>`(octet_length(text) > ${sql.lit(SHORT_TEXT)} OR text_contains(text, ${folded}))`),
    )
    .orderBy('seq', 'desc')
    .execute();
}

async function compareLong({ db }: Search, folded: string, seqs: readonly number[]): Promise<readonly number[]> {
  const having = db
    .selectFrom('evidence')
    .select('seq')
    .where(oneOf(seqs))
    .where(sql<SqlBool>`text_contains(text, ${folded})`);
  return (await having.execute()).map(({ seq }) => seq);
}

function oneOf(seqs: readonly number[]) {
  return sql<SqlBool>`seq IN (SELECT value FROM json_each(${JSON.stringify(seqs)}))`;
}
