import type { Database } from 'better-sqlite3';
import type { EvidenceRecord } from '../../evidence/evidence-record.js';
import { hourOf, latencyRowOf, rowOf, versionOf } from '../sql/evidence-row.js';
import type { EvidenceRow, Tables } from '../sql/tables.js';
import { StoreError } from '../store-error.js';

/** Writes one record inside a commit; what can be worked out before is worked out on the caller's time. */
export function embeddedAppend(db: Database): (record: EvidenceRecord) => () => void {
  const insert = db.prepare<[EvidenceRow]>(
    `INSERT INTO evidence (seq, id, account_id, key_id, verdict, rule, decided_by, router_level, label, text, record)
     VALUES (@seq, @id, @account_id, @key_id, @verdict, @rule, @decided_by, @router_level, @label, @text, @record)
     ON CONFLICT (seq) DO NOTHING`,
  );
  const unsearched = db.prepare<[number]>('INSERT INTO evidence_unsearched (seq) VALUES (?)');
  const count = db.prepare<[Tables['evidence_hours']]>(
    `INSERT INTO evidence_hours (account_id, hour, rule, calls, blocks, model_errors, latency_sum, latency_max)
     VALUES (@account_id, @hour, @rule, @calls, @blocks, @model_errors, @latency_sum, @latency_max)
     ON CONFLICT (account_id, hour, rule) DO UPDATE SET
       calls = calls + 1, blocks = blocks + excluded.blocks, model_errors = model_errors + excluded.model_errors,
       latency_sum = latency_sum + excluded.latency_sum, latency_max = max(latency_max, excluded.latency_max)`,
  );
  const time = db.prepare<[Tables['evidence_latencies']]>(
    `INSERT INTO evidence_latencies (account_id, hour, step, calls) VALUES (@account_id, @hour, @step, @calls)
     ON CONFLICT (account_id, hour, step) DO UPDATE SET calls = calls + 1`,
  );
  const version = db.prepare<[Tables['evidence_versions']]>(
    `INSERT INTO evidence_versions (account_id, rules_version, ml_version, rule, first_at, last_at, calls, blocks,
       false_alarms, missed_attacks)
     VALUES (@account_id, @rules_version, @ml_version, @rule, @first_at, @last_at, @calls, @blocks,
       @false_alarms, @missed_attacks)
     ON CONFLICT (account_id, rules_version, ml_version, rule) DO UPDATE SET
       first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at),
       calls = calls + 1, blocks = blocks + excluded.blocks, false_alarms = false_alarms + excluded.false_alarms,
       missed_attacks = missed_attacks + excluded.missed_attacks`,
  );
  return (record) => {
    const row = rowOf(record);
    const [hour, latency, versions] = [hourOf(record), latencyRowOf(record), versionOf(record)];
    return () => {
      let { seq } = row;
      try {
        while (insert.run({ ...row, seq }).changes === 0) seq += 1;
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'SQLITE_CONSTRAINT_UNIQUE')
          throw new StoreError('STORE_CONFLICT', `there is evidence "${row.id}" already`);
        throw error;
      }
      if (row.text !== null) unsearched.run(seq);
      count.run(hour);
      time.run(latency);
      version.run(versions);
    };
  };
}
