import type { Charge } from '../account-store.js';
import type { Plans } from '../plans.js';
import type { CountedRow } from '../sql/evidence/evidence-row.js';
import { embeddedCharge } from './charge.js';
import { Commits } from './commits.js';
import { connect, openLog } from './database-file.js';
import { openSearchMark, SearchIndex } from './search-index.js';
import { addedCounts, embeddedAppend, embeddedDelete } from './write-evidence.js';

/** Writes during a call: on this thread or on one of its own. */
export interface Writer {
  /** Counts a call or refuses it; what it says outlives this process. */
  charge(accountId: string, at: number): Promise<Charge>;
  /** Durable when it resolves. @throws StoreError `STORE_CONFLICT` where the id is there already */
  append(row: CountedRow): Promise<void>;
  /** The same with the call counted in the same commit; where it is refused, nothing is written. */
  appendCounted(row: CountedRow, at: number): Promise<Charge>;
  /** Deletes up to `limit` of an account's records before a place in the order; gives their number. */
  deleteBefore(accountId: string, before: number, limit: number): Promise<number>;
  /** Moves the write-ahead log into the database and empties it: it holds what was deleted, too. */
  emptyLog(): Promise<void>;
  /** Keeps commits back while `work` runs a transaction on another connection. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** Reasons why it can't write now, one line each. */
  problems(): readonly string[];
  /** Resolves when all that was asked is durable; later work is refused. */
  close(): Promise<void>;
}

export interface WriterParts {
  /** The database's file, with its schema up to date. */
  readonly file: string;
  /** Told when the disk is full. */
  readonly onFull: () => void;
}

export interface WriterSettings {
  readonly file: string;
  readonly plans: Pick<Plans, 'all' | 'overagePackCalls'>;
}

/** A request to the thread that writes. */
export type WriterJob =
  | { readonly kind: 'open'; readonly settings: WriterSettings }
  | { readonly kind: 'charge'; readonly accountId: string; readonly at: number }
  /** With `at` (milliseconds since 1970) the call is counted, too. */
  | { readonly kind: 'append'; readonly row: CountedRow; readonly at: number | null }
  | { readonly kind: 'delete'; readonly accountId: string; readonly before: number; readonly limit: number }
  | { readonly kind: 'empty-log' }
  /** Answered once no commit is in progress; none starts until the same `id` is released. */
  | { readonly kind: 'hold'; readonly id: number }
  | { readonly kind: 'release'; readonly id: number }
  | { readonly kind: 'close' };

/** A writer on this thread, with a connection of its own; it fills the search index too. */
export async function openWriter({ file, onFull, plans }: WriterParts & { readonly plans: Plans }): Promise<Writer> {
  // Waiting for another process's commit must not stop this thread: the group commit tries again instead.
  const db = connect(file, 0);
  try {
    const log = await openLog(db, file);
    const charges = embeddedCharge(db, plans);
    const counts = addedCounts(db);
    const mark = openSearchMark(db);
    const commits = new Commits(db, { sync: () => log.datasync(), onFull, buffers: [charges, counts, mark] });
    const search = new SearchIndex(db, commits, mark);
    const append = embeddedAppend(db, counts, mark);
    return {
      charge: (accountId, at) => commits.runAhead(() => charges.charge(accountId, at)),
      append: (row) => commits.run(() => append(row)),
      appendCounted: (row, at) =>
        commits.run(() => {
          const charge = charges.charge(row.account_id, at);
          if (charge.allowed) append(row);
          return charge;
        }),
      deleteBefore: embeddedDelete(db, commits, mark),
      async emptyLog() {
        await search.rewrite();
        await commits.alone(async () => {
          // Where a reader is in the way the next purge does it.
          db.pragma('wal_checkpoint(TRUNCATE)');
        });
      },
      alone: (work) => commits.alone(work),
      problems: () => [],
      async close() {
        search.close();
        await commits.close();
        await log.close();
        db.close();
      },
    };
  } catch (error) {
    db.close();
    throw error;
  }
}
