import { type Kysely, type SqlBool, sql } from 'kysely';
import { errorCode } from '../../engine/errors.js';
import type { EvidenceFilter } from '../evidence-store.js';
import { type Connection, evidenceDb } from '../sql/connection.js';
import type { EvidenceOwn } from '../sql/evidence/evidence.js';
import {
  bytesOfRecord,
  filterConditions,
  type ListedPlace,
  type Place,
  searched,
} from '../sql/evidence/evidence-filter.js';
import { searchInSteps, type Window } from '../sql/evidence/search-steps.js';
import type { EvidenceTables } from '../sql/tables.js';

interface Asked {
  readonly accountId: string;
  readonly filter: EvidenceFilter;
  readonly text: string | undefined;
  readonly after: Place | null;
}

/** A search that takes longer is done in steps: seldom words come from the index at once, frequent ones along the list. */
const AT_ONCE_MS = 120;
const CANCELED = '57014';

const pattern = (text: string): string => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;

const queryPlaces = (
  db: Kysely<EvidenceTables>,
  { accountId, filter, text, after }: Asked,
  limit: number,
  low = 0,
  high = Number.MAX_SAFE_INTEGER,
): Promise<readonly ListedPlace[]> =>
  db
    .selectFrom('evidence')
    .select(['seq', 'id', bytesOfRecord.as('bytes')])
    .where((where) => {
      const all = [...filterConditions(where, accountId, filter), where('seq', '<', high)];
      if (low > 0) all.push(where('seq', '>=', low));
      if (after) all.push(sql<SqlBool>`(seq, id) < (${after.seq}, ${after.id})`);
      if (text !== undefined) all.push(sql<SqlBool>`text ILIKE ${pattern(text)}`);
      return where.and(all);
    })
    .orderBy('seq', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();

/** The whole answer, or undefined where it takes too long. */
const atOnce = async (
  db: Kysely<EvidenceTables>,
  asked: Asked,
  limit: number,
): Promise<readonly ListedPlace[] | undefined> => {
  try {
    return await db.transaction().execute(async (inside) => {
      await sql`SET LOCAL statement_timeout = ${sql.lit(AT_ONCE_MS)}`.execute(inside);
      return queryPlaces(inside, asked, limit);
    });
  } catch (error) {
    if (errorCode(error) === CANCELED) return undefined;
    throw error;
  }
};

/** Lists of evidence, newest first, and the deletion of old ones. */
export function postgresPage(connection: Connection): Pick<EvidenceOwn, 'page' | 'deleteBefore'> {
  const db = evidenceDb(connection.db);
  return {
    async page(accountId, filter, after, limit) {
      const asked = { accountId, filter, text: searched(filter), after };
      if (asked.text === undefined) return { places: await queryPlaces(db, asked, limit), stoppedAt: null };
      const places = await atOnce(db, asked, limit);
      if (places) return { places, stoppedAt: null };
      const steps = {
        async lowOf(high: number, size: number) {
          const own = db
            .selectFrom('evidence')
            .select('seq')
            .where('account_id', '=', accountId)
            .where('seq', '<', high);
          return (await own.orderBy('seq', 'desc').offset(size).limit(1).executeTakeFirst())?.seq ?? 0;
        },
        search: async ({ low, high }: Window, most: number) => ({
          places: await queryPlaces(db, asked, most, low, high),
          low,
        }),
      };
      // One above the place: records with the same number are distinguished by their ids.
      return searchInSteps(steps, after ? after.seq + 1 : Number.MAX_SAFE_INTEGER, limit);
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
