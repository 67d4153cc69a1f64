import type { Pool } from 'pg';
import type { EvidenceRecord } from '../../evidence/evidence-record.js';
import { hourOf, latencyRowOf, rowOf, versionOf } from '../sql/evidence-row.js';
import type { EvidenceRow, Tables } from '../sql/tables.js';
import { StoreError } from '../store-error.js';

const rowColumns = [
  'seq',
  'id',
  'account_id',
  'key_id',
  'verdict',
  'rule',
  'decided_by',
  'router_level',
  'label',
  'text',
  'record',
] as const satisfies readonly (keyof EvidenceRow)[];

/** Rows and counts in one statement: one round trip, one transaction. Sorted, so that two servers lock in one order. */
const text = `
WITH rows AS (
  INSERT INTO evidence (${rowColumns.join(', ')})
  SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::TEXT[], $8::TEXT[],
    $9::TEXT[], $10::TEXT[], $11::TEXT[])
  ON CONFLICT (id) DO NOTHING RETURNING id
), hours AS (
  INSERT INTO evidence_hours AS h (account_id, hour, rule, calls, blocks, model_errors, latency_sum, latency_max)
  SELECT n.account_id, n.hour, n.rule, sum(n.calls), sum(n.blocks), sum(n.model_errors), sum(n.latency), max(n.latency)
  FROM unnest($12::TEXT[], $13::BIGINT[], $14::TEXT[], $15::BIGINT[], $16::BIGINT[], $17::BIGINT[], $18::BIGINT[], $19::TEXT[])
    AS n (account_id, hour, rule, calls, blocks, model_errors, latency, id)
  JOIN rows ON rows.id = n.id
  GROUP BY n.account_id, n.hour, n.rule ORDER BY n.account_id, n.hour, n.rule
  ON CONFLICT (account_id, hour, rule) DO UPDATE SET
    calls = h.calls + excluded.calls, blocks = h.blocks + excluded.blocks,
    model_errors = h.model_errors + excluded.model_errors, latency_sum = h.latency_sum + excluded.latency_sum,
    latency_max = greatest(h.latency_max, excluded.latency_max)
), latencies AS (
  INSERT INTO evidence_latencies AS l (account_id, hour, step, calls)
  SELECT n.account_id, n.hour, n.step, count(*)
  FROM unnest($12::TEXT[], $13::BIGINT[], $20::BIGINT[], $19::TEXT[]) AS n (account_id, hour, step, id)
  JOIN rows ON rows.id = n.id
  GROUP BY n.account_id, n.hour, n.step ORDER BY n.account_id, n.hour, n.step
  ON CONFLICT (account_id, hour, step) DO UPDATE SET calls = l.calls + excluded.calls
), versions AS (
  INSERT INTO evidence_versions AS v (account_id, rules_version, ml_version, rule, first_at, last_at, calls, blocks,
    false_alarms, missed_attacks)
  SELECT n.account_id, n.rules, n.ml, n.rule, min(n.at), max(n.at), count(*), sum(n.blocks), sum(n.alarms), sum(n.missed)
  FROM unnest($12::TEXT[], $21::TEXT[], $22::TEXT[], $14::TEXT[], $23::BIGINT[], $16::BIGINT[], $24::BIGINT[],
    $25::BIGINT[], $19::TEXT[]) AS n (account_id, rules, ml, rule, at, blocks, alarms, missed, id)
  JOIN rows ON rows.id = n.id
  GROUP BY n.account_id, n.rules, n.ml, n.rule ORDER BY n.account_id, n.rules, n.ml, n.rule
  ON CONFLICT (account_id, rules_version, ml_version, rule) DO UPDATE SET
    first_at = least(v.first_at, excluded.first_at), last_at = greatest(v.last_at, excluded.last_at),
    calls = v.calls + excluded.calls, blocks = v.blocks + excluded.blocks,
    false_alarms = v.false_alarms + excluded.false_alarms, missed_attacks = v.missed_attacks + excluded.missed_attacks
)
SELECT id FROM rows`;

const column = <T, K extends keyof T>(rows: readonly T[], name: K): readonly T[K][] => rows.map((row) => row[name]);

/** Writes a batch of records with their counts. An id that is there already is refused alone. */
export function postgresAppend(
  pool: Pool,
  pepper: string,
): (records: readonly EvidenceRecord[]) => Promise<readonly (true | Error)[]> {
  return async (records) => {
    const rows = records.map((it) => rowOf(it, pepper));
    const hours: readonly Tables['evidence_hours'][] = rows.map(hourOf);
    const versions = rows.map(versionOf);
    const { rows: written } = await pool.query<{ readonly id: string }>({
      name: 'portcullis-append',
      text,
      values: [
        ...rowColumns.map((name) => column(rows, name)),
        column(hours, 'account_id'),
        column(hours, 'hour'),
        column(hours, 'rule'),
        column(hours, 'calls'),
        column(hours, 'blocks'),
        column(hours, 'model_errors'),
        column(hours, 'latency_sum'),
        column(rows, 'id'),
        column(rows.map(latencyRowOf), 'step'),
        column(versions, 'rules_version'),
        column(versions, 'ml_version'),
        column(versions, 'first_at'),
        column(versions, 'false_alarms'),
        column(versions, 'missed_attacks'),
      ],
    });
    const ids = new Set(written.map(({ id }) => id));
    return rows.map(({ id }) =>
      // Deleted as it is found: the second of two in one batch is refused.
      ids.delete(id) ? true : new StoreError('STORE_CONFLICT', `there is evidence "${id}" already`),
    );
  };
}
