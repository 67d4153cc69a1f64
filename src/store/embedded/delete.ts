import type { Database } from 'better-sqlite3';
import type { EvidenceOwn } from '../sql/evidence.js';
import type { GroupCommit } from './group-commit.js';
import type { SearchMark } from './search-mark.js';

/** Deletes old records with what the search index has of them. */
export function embeddedDelete(db: Database, commits: GroupCommit, mark: SearchMark): EvidenceOwn['deleteBefore'] {
  const old = db
    .prepare<[string, number, number], number>(
      'SELECT seq FROM evidence WHERE account_id = ? AND seq < ? ORDER BY seq LIMIT ?',
    )
    .pluck();
  const waits = db.prepare<[number]>('DELETE FROM evidence_unsearched WHERE seq = ?');
  const unsearch = db.prepare<[number]>('DELETE FROM evidence_search WHERE rowid = ?');
  const remove = db.prepare<[number]>('DELETE FROM evidence WHERE seq = ?');
  return (accountId, before, limit) =>
    commits.run(() => {
      const seqs = old.all(accountId, before, limit);
      for (const seq of seqs) {
        if (waits.run(seq).changes === 0 && seq <= mark.at()) unsearch.run(seq);
        remove.run(seq);
      }
      return seqs.length;
    });
}
