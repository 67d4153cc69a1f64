import type { Plans } from '../plans.js';
import { addedCounts } from './added-counts.js';
import { embeddedAppend } from './append.js';
import { embeddedCharge } from './charge.js';
import { connect, openLog } from './connect.js';
import { embeddedDelete } from './delete.js';
import { openGroupCommit } from './group-commit.js';
import { openSearchIndex } from './search-index.js';
import { openSearchMark } from './search-mark.js';
import type { Writer, WriterParts } from './writer.js';

/** A writer on this thread, with a connection of its own; it fills the search index too. */
export async function openWriter({ file, onFull, plans }: WriterParts & { readonly plans: Plans }): Promise<Writer> {
  // Waiting for another process's commit must not stop this thread: the group commit tries again instead.
  const db = connect(file, 0);
  try {
    const log = await openLog(db, file);
    const charges = embeddedCharge(db, plans);
    const counts = addedCounts(db);
    const mark = openSearchMark(db);
    const commits = openGroupCommit(db, { sync: () => log.datasync(), onFull, tallies: [charges, counts, mark] });
    const search = openSearchIndex(db, commits, mark);
    const append = embeddedAppend(db, counts, mark);
    return {
      charge: (accountId, at) => commits.runAhead(() => charges.charge(accountId, at)),
      append: (row) => commits.run(() => append(row)),
      deleteBefore: embeddedDelete(db, commits, mark),
      alone: commits.alone,
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
