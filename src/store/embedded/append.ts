import type { Database } from 'better-sqlite3';
import type { EvidenceRecord } from '../../evidence/evidence-record.js';
import { rowOf } from '../sql/evidence-row.js';
import { StoreError } from '../store-error.js';
import type { AddedCounts } from './added-counts.js';
import type { SearchMark } from './search-mark.js';

type Value = string | number | null;

/** Writes one record inside a commit; what can be worked out before is worked out on the caller's time. */
export function embeddedAppend(
  db: Database,
  counts: AddedCounts,
  mark: SearchMark,
): (record: EvidenceRecord) => () => void {
  const insert = db.prepare<Value[]>(
    `INSERT INTO evidence (seq, id, account_id, key_id, verdict, rule, decided_by, router_level, label, text, record)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO NOTHING`,
  );
  const unsearched = db.prepare<[number]>('INSERT INTO evidence_unsearched (seq) VALUES (?)');
  return (record) => {
    const row = rowOf(record);
    const { id, account_id, key_id, verdict, rule, decided_by, router_level, label, text } = row;
    const values = [id, account_id, key_id, verdict, rule, decided_by, router_level, label, text, row.record] as const;
    return () => {
      let { seq } = row;
      try {
        while (insert.run(seq, ...values).changes === 0) seq += 1;
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'SQLITE_CONSTRAINT_UNIQUE')
          throw new StoreError('STORE_CONFLICT', `there is evidence "${id}" already`);
        throw error;
      }
      if (text !== null && seq <= mark.at()) unsearched.run(seq);
      counts.add(record);
    };
  };
}
