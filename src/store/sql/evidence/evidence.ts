import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { EvidenceLabel, EvidenceRecord } from '../../../evidence/evidence-record.js';
import type { EvidenceFilter, EvidenceStore } from '../../evidence-store.js';
import { StoreError } from '../../store-error.js';
import { toAccount } from '../accounts/accounts.js';
import { type Connection, evidenceDb, sqlNotes } from '../connection.js';
import type { EvidenceTables } from '../tables.js';
import {
  bytesOfRecord,
  countWithin,
  decodeCursor,
  encodeCursor,
  filterConditions,
  type ListedPlace,
  PAGE_BYTES,
  type PageOfPlaces,
  type Place,
  sumBytes,
} from './evidence-filter.js';
import { firstSeq, timeOfSeq, toRecord, toRow, toVersionRow } from './evidence-row.js';

/** Operations that each database implements differently. */
export interface EvidenceOwn extends Pick<EvidenceStore, 'append' | 'appendCounted'> {
  /** Places of a list after a place, newest first. Where they hold more than a page does they may be fewer than `limit`. */
  page(accountId: string, filter: EvidenceFilter, after: Place | null, limit: number): Promise<PageOfPlaces>;
  /** Deletes up to `limit` of an account's records before a place in the order; gives their number. */
  deleteBefore(accountId: string, seq: number, limit: number): Promise<number>;
  /** After a purge that deleted something: takes what is left of it off the disk. */
  purged(): Promise<void>;
}

/** An evidence id, or its beginning. */
const ID_SHAPE = /^ev_[0-9a-f]{4,24}$/i;

/** Finds records whose id begins with the text searched for; undefined where there are none. */
async function pageById(
  db: Kysely<EvidenceTables>,
  accountId: string,
  filter: EvidenceFilter,
  after: Place | null,
  limit: number,
): Promise<PageOfPlaces | undefined> {
  const start = filter.text?.trim().toLowerCase() ?? '';
  if (!ID_SHAPE.test(start)) return undefined;
  // On its own: a planner that sees the account as well may walk all of its records.
  const ids = await db
    .selectFrom('evidence')
    .select('id')
    .where('id', '>=', start)
    .where('id', '<', `${start}g`)
    .limit(500)
    .execute();
  if (ids.length === 0) return undefined;
  const own = db
    .selectFrom('evidence')
    .select(['seq', 'id', bytesOfRecord.as('bytes')])
    .where((where) => where.and(filterConditions(where, accountId, filter)))
    .where(
      'id',
      'in',
      ids.map(({ id }) => id),
    )
    .where('seq', '<', after?.seq ?? Number.MAX_SAFE_INTEGER);
  const places = await own.orderBy('seq', 'desc').orderBy('id', 'desc').limit(limit).execute();
  return places.length === 0 && after === null ? undefined : { places, stoppedAt: null };
}

/** Bytes of records that are read at once: a thread takes a millisecond or two for them. A longer record is read alone. */
const BYTES_AT_ONCE = 256 * 1024;
const ROWS_AT_ONCE = 100;

/** The records of places, in their order, a few at a time. One that was deleted meanwhile is left out. */
async function* readRecords(
  { db, dialect, longWork }: Connection,
  accountId: string,
  places: readonly ListedPlace[],
): AsyncGenerator<readonly EvidenceRecord[], void, void> {
  for (let at = 0; at < places.length; ) {
    const few = places.slice(at, at + ROWS_AT_ONCE);
    const group = few.slice(0, countWithin(few, BYTES_AT_ONCE));
    at += group.length;
    const ids = group.map(({ id }) => id);
    const rows = () =>
      evidenceDb(db).selectFrom('evidence').select(['id', 'record', 'text', 'label']).where('id', 'in', ids).execute();
    // Another server's time is no time of this thread.
    const early = dialect === 'postgres' ? await rows() : undefined;
    yield await longWork(accountId, sumBytes(group), async () => {
      const found = new Map((early ?? (await rows())).map((row) => [row.id, row]));
      return ids.flatMap((id) => {
        const row = found.get(id);
        return row === undefined ? [] : [toRecord(row)];
      });
    });
  }
}

export function sqlEvidence(connection: Connection, own: EvidenceOwn): EvidenceStore {
  const db = evidenceDb(connection.db);

  const listPlaces = async (accountId: string, filter: EvidenceFilter, cursor: string | null, limit: number) => {
    const most = Math.min(500, Math.max(1, Math.trunc(limit)));
    const after = cursor === null ? null : decodeCursor(cursor);
    const byId = await pageById(db, accountId, filter, after, most + 1);
    const { places, stoppedAt } = byId ?? (await own.page(accountId, filter, after, most + 1));
    const shown = places.slice(0, Math.min(most, countWithin(places, PAGE_BYTES)));
    const isCut = places.length > shown.length;
    const next = isCut ? (shown.at(-1) ?? null) : stoppedAt;
    const searchedTo = isCut || stoppedAt === null ? null : timeOfSeq(stoppedAt.seq);
    return { places: shown, next: next && encodeCursor(next), searchedTo };
  };

  return {
    append: own.append,
    appendCounted: own.appendCounted,
    async list(accountId, filter, cursor, limit) {
      const { places, ...where } = await listPlaces(accountId, filter, cursor, limit);
      const records: EvidenceRecord[] = [];
      for await (const few of readRecords(connection, accountId, places)) records.push(...few);
      return { records, ...where };
    },
    async get(accountId, id) {
      const row = db.selectFrom('evidence').selectAll().where('id', '=', id).where('account_id', '=', accountId);
      const found = await row.executeTakeFirst();
      return found && toRecord(found);
    },
    async find(id) {
      const found = await db.selectFrom('evidence').selectAll().where('id', '=', id).executeTakeFirst();
      return found && toRecord(found);
    },
    async *iterate(accountId, filter) {
      let cursor: string | null = null;
      do {
        const { places, next }: Awaited<ReturnType<typeof listPlaces>> = await listPlaces(
          accountId,
          filter,
          cursor,
          500,
        );
        // Read on demand: a slow reader holds only a few of them.
        for await (const few of readRecords(connection, accountId, places)) yield* few;
        cursor = next;
      } while (cursor !== null);
    },
    label: (accountId, id, label) => labelEvidence(connection, accountId, id, label),
    ...sqlEvidenceCounts(connection),
    purge: (now, options) => purgeEvidence(connection, own, now, options?.trustClock === true),
  };
}

/** Labels a record and moves the counts of its versions with it, in one transaction. @throws StoreError STORE_NOT_FOUND */
async function labelEvidence(
  { transaction, pepper }: Connection,
  accountId: string,
  id: string,
  label: EvidenceLabel | null,
): Promise<void> {
  await transaction(async (inside) => {
    const evidence = evidenceDb(inside);
    const own = evidence.updateTable('evidence').where('id', '=', id).where('account_id', '=', accountId);
    // The row is locked by this write before it is read: two labels at once are counted one after the other.
    const row = await own.set({ label: sql`label` }).returning(['record', 'text', 'label']).executeTakeFirst();
    if (!row) throw new StoreError('STORE_NOT_FOUND', `no evidence "${id}" in this account`);
    await own.set({ label }).execute();
    const counted = toRow(toRecord(row), pepper);
    const [before, after] = [toVersionRow(counted), toVersionRow({ ...counted, label })];
    await evidence
      .updateTable('evidence_versions')
      .set({
        false_alarms: sql`false_alarms + ${after.false_alarms - before.false_alarms}`,
        missed_attacks: sql`missed_attacks + ${after.missed_attacks - before.missed_attacks}`,
      })
      .where('account_id', '=', accountId)
      .where('rules_version', '=', after.rules_version)
      .where('ml_version', '=', after.ml_version)
      .where('rule', '=', after.rule)
      .execute();
  });
}

const DAY_MS = 86_400_000;
/** Few, since what is deleted is overwritten, and calls wait meanwhile. */
const BATCH = 25;
const EVENT_DAYS = 90;
const ATTEMPT_DAYS = 2;
const DEVICE_DAYS = 400;
const CLOCK_NOTE = 'purge-clock';
/** A clock that has gone on for longer since the last purge, or since the newest record where there was none, may be wrong. */
const CLOCK_DAYS = 7;

/** @throws StoreError `STORE_CLOCK` where the clock may be wrong: what is deleted by mistake is gone */
async function requireClock({ db }: Connection, now: number): Promise<void> {
  const noted = await sqlNotes({ db }).get(CLOCK_NOTE);
  let known = Number(noted);
  if (noted === undefined) {
    const newest = await evidenceDb(db)
      .selectFrom('evidence')
      .select(({ fn }) => fn.max('seq').as('seq'))
      .executeTakeFirst();
    known = newest?.seq == null ? now : timeOfSeq(newest.seq);
  }
  const days = Math.floor((now - known) / DAY_MS);
  if (days < CLOCK_DAYS) return;
  const since = noted === undefined ? 'newest evidence' : 'last purge';
  throw new StoreError(
    'STORE_CLOCK',
    `no purge: by the clock (${new Date(now).toISOString()}) the ${since} was ${days} days ago; if the clock is right, run "portcullis admin purge --trust-clock"`,
  );
}

/** Deletes what retention doesn't keep, in small steps so that screening goes on, and what has expired. Gives the records' number. */
async function purgeEvidence(
  connection: Connection,
  own: EvidenceOwn,
  now: number,
  trustClock: boolean,
): Promise<number> {
  const { db } = connection;
  if (!trustClock) await requireClock(connection, now);
  let purged = 0;
  for (const account of (await db.selectFrom('accounts').selectAll().execute()).map(toAccount)) {
    const before = firstSeq(now - account.settings.retentionDays * DAY_MS);
    let deleted: number;
    do {
      deleted = await own.deleteBefore(account.id, before, BATCH);
      purged += deleted;
    } while (deleted === BATCH);
  }
  await db.deleteFrom('sessions').where('expiresAt', '<=', now).execute();
  await db.deleteFrom('invitations').where('expiresAt', '<=', now).execute();
  const old = (days: number): number => now - days * DAY_MS;
  await db.deleteFrom('seenEvents').where('seenAt', '<', old(EVENT_DAYS)).execute();
  await db.deleteFrom('attempts').where('lastAt', '<', old(ATTEMPT_DAYS)).execute();
  await db.deleteFrom('devices').where('usedAt', '<', old(DEVICE_DAYS)).execute();
  await sqlNotes({ db }).set(CLOCK_NOTE, String(now));
  if (purged > 0) await own.purged();
  return purged;
}

const unitMs = { hour: 3_600_000, day: 86_400_000 } as const;

const startMark = (unit: keyof typeof unitMs): RawBuilder<number> =>
  sql<number>`hour - (hour % ${sql.lit(unitMs[unit])})`;

/** A sum as the number that it is: PostgreSQL's own sum of whole numbers is a decimal, which its client reads as text. */
const sumOf = (column: string): RawBuilder<number> => sql<number>`cast(sum(${sql.ref(column)}) AS bigint)`;

/** Opens the counts that are kept beside the records and outlive them. */
function sqlEvidenceCounts(connection: Connection): Pick<EvidenceStore, 'counts' | 'latencies' | 'versions'> {
  const evidence = evidenceDb(connection.db);
  return {
    counts(accountId, from, to, unit) {
      const at = startMark(unit);
      return evidence
        .selectFrom('evidence_hours')
        .select([at.as('at'), 'rule', sumOf('calls').as('calls'), sumOf('blocks').as('blocks')])
        .select(sumOf('model_errors').as('modelErrors'))
        .where('account_id', '=', accountId)
        .where('hour', '>=', from)
        .where('hour', '<', to)
        .groupBy([at, 'rule'])
        .orderBy(at)
        .orderBy('rule')
        .execute();
    },
    latencies(accountId, from, to, unit) {
      const at = startMark(unit);
      return evidence
        .selectFrom('evidence_latencies')
        .select([at.as('at'), 'step', sumOf('calls').as('calls')])
        .where('account_id', '=', accountId)
        .where('hour', '>=', from)
        .where('hour', '<', to)
        .groupBy([at, 'step'])
        .orderBy(at)
        .orderBy('step')
        .execute();
    },
    versions(accountId) {
      const rows = evidence
        .selectFrom('evidence_versions')
        .select(['rules_version as rulesVersion', 'ml_version as mlVersion', 'rule', 'first_at as firstAt'])
        .select(['last_at as lastAt', 'calls', 'blocks', 'false_alarms as falseAlarms'])
        .select('missed_attacks as missedAttacks');
      return rows.where('account_id', '=', accountId).execute();
    },
  };
}
