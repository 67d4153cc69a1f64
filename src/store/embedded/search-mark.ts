import type { Database } from 'better-sqlite3';
import type { Tally } from './tally.js';

/**
 * How far the search index has come. It holds every record up to the mark, but for those that the table
 * `evidence_unsearched` names: records that came later with an earlier time. Only to be asked inside a commit.
 */
export interface SearchMark extends Tally {
  /** `seq` of the last record that the index has gone past; 0 at first. */
  at(): number;
  moveTo(seq: number): void;
}

/** The mark, read once a commit. */
export function openSearchMark(db: Database): SearchMark {
  const read = db.prepare<[], number>('SELECT seq FROM evidence_indexed').pluck();
  const move = db.prepare<[number]>('UPDATE evidence_indexed SET seq = ?');
  let known: number | undefined;
  const drop = (): void => {
    known = undefined;
  };
  return {
    at() {
      known ??= read.get() ?? 0;
      return known;
    },
    moveTo(seq) {
      move.run(seq);
      known = seq;
    },
    // Another process may move it before the next commit.
    write: drop,
    drop,
  };
}
