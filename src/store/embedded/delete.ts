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
  const empty = db.prepare<[string, string]>(
    `DELETE FROM evidence_stretches WHERE account = (SELECT number FROM accounts WHERE id = ?)
       AND high < coalesce((SELECT min(seq) FROM evidence WHERE account_id = ?), ${Number.MAX_SAFE_INTEGER})`,
  );
  const remove = db.prepare<[number]>('DELETE FROM evidence WHERE seq = ?');
  return (accountId, before, limit) =>
    commits.run(() => {
      const seqs = old.all(accountId, before, limit);
      for (const seq of seqs) {
        if (waits.run(seq).changes === 0 && seq <= mark.at()) unsearch.run(seq);
        remove.run(seq);
      }
      if (seqs.length > 0) empty.run(accountId, accountId);
      return seqs.length;
    });
}
