import type { EvidenceFilter, EvidencePage, EvidenceStore } from '../evidence-store.js';
import type { Connection } from './connection.js';
import { sqlEvidenceCounts } from './evidence-counts.js';
import { cursorOf, type Place, placeOf } from './evidence-filter.js';
import { recordOf, timeOfSeq } from './evidence-row.js';
import { labelEvidence } from './label-evidence.js';
import { purgeEvidence } from './purge.js';
import type { EvidenceRow } from './tables.js';

/** Rows of a page. */
export interface PageOfRows {
  readonly rows: readonly EvidenceRow[];
  /** Where a search went no further for now; null where it reached the limit or the end. */
  readonly stoppedAt: Place | null;
}

/** What each database does its own way. */
export interface EvidenceOwn extends Pick<EvidenceStore, 'append'> {
  /** Rows of a list after a place, newest first. */
  page(accountId: string, filter: EvidenceFilter, after: Place | null, limit: number): Promise<PageOfRows>;
  /** Deletes up to `limit` of an account's records before a place in the order; gives their number. */
  deleteBefore(accountId: string, seq: number, limit: number): Promise<number>;
}

/** Evidence in SQL. */
export function sqlEvidence(connection: Connection, own: EvidenceOwn): EvidenceStore {
  const { db } = connection;

  const list = async (
    accountId: string,
    filter: EvidenceFilter,
    cursor: string | null,
    limit: number,
  ): Promise<EvidencePage> => {
    const most = Math.min(500, Math.max(1, Math.trunc(limit)));
    const { rows, stoppedAt } = await own.page(accountId, filter, cursor === null ? null : placeOf(cursor), most + 1);
    const shown = rows.slice(0, most);
    const next = rows.length > most ? (shown.at(-1) ?? null) : stoppedAt;
    const searchedTo = stoppedAt && timeOfSeq(stoppedAt.seq);
    return { records: shown.map(recordOf), next: next && cursorOf(next), searchedTo };
  };

  return {
    append: own.append,
    list,
    async get(accountId, id) {
      const row = db.selectFrom('evidence').selectAll().where('id', '=', id).where('account_id', '=', accountId);
      const found = await row.executeTakeFirst();
      return found && recordOf(found);
    },
    async find(id) {
      const found = await db.selectFrom('evidence').selectAll().where('id', '=', id).executeTakeFirst();
      return found && recordOf(found);
    },
    async *iterate(accountId, filter) {
      let cursor: string | null = null;
      do {
        const page: EvidencePage = await list(accountId, filter, cursor, 500);
        yield* page.records;
        cursor = page.next;
      } while (cursor !== null);
    },
    label: (accountId, id, label) => labelEvidence(connection, accountId, id, label),
    ...sqlEvidenceCounts(connection),
    purge: (now) => purgeEvidence(connection, own, now),
  };
}
