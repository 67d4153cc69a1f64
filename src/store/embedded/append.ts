import type { Database } from 'better-sqlite3';
import type { CountedRow } from '../sql/evidence-row.js';
import { StoreError } from '../store-error.js';
import type { AddedCounts } from './added-counts.js';
import type { SearchMark } from './search-mark.js';

type Value = string | number | null;

/** Writes one record; to be called inside a commit. */
export function embeddedAppend(db: Database, counts: AddedCounts, mark: SearchMark): (row: CountedRow) => void {
  const insert = db.prepare<Value[]>(
    `INSERT INTO evidence (seq, id, account_id, key_id, verdict, rule, decided_by, router_level, label, text, record)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO NOTHING`,
  );
  const unsearched = db.prepare<[number]>('INSERT INTO evidence_unsearched (seq) VALUES (?)');
  return (row) => {
    const { id, account_id, key_id, verdict, rule, decided_by, router_level, label, text, record } = row;
    let { seq } = row;
    const isWritten = (): boolean =>
      insert.run(seq, id, account_id, key_id, verdict, rule, decided_by, router_level, label, text, record).changes > 0;
    try {
      while (!isWritten()) seq += 1;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'SQLITE_CONSTRAINT_UNIQUE')
        throw new StoreError('STORE_CONFLICT', `there is evidence "${id}" already`);
      throw error;
    }
    if (text !== null && seq <= mark.at()) unsearched.run(seq);
    counts.add(row);
  };
}
