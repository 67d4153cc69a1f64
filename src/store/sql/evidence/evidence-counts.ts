import { type RawBuilder, sql } from 'kysely';
import type { EvidenceStore } from '../../evidence-store.js';
import { type Connection, evidenceDb } from '../connection.js';

const unitMs = { hour: 3_600_000, day: 86_400_000 } as const;

const startMark = (unit: keyof typeof unitMs): RawBuilder<number> =>
  sql<number>`hour - (hour % ${sql.lit(unitMs[unit])})`;

/** A sum as the number that it is: PostgreSQL's own sum of whole numbers is a decimal, which its client reads as text. */
const sumOf = (column: string): RawBuilder<number> => sql<number>`cast(sum(${sql.ref(column)}) AS bigint)`;

/** Opens the counts that are kept beside the records and outlive them. */
export function sqlEvidenceCounts(connection: Connection): Pick<EvidenceStore, 'counts' | 'latencies' | 'versions'> {
  const evidence = evidenceDb(connection.db);
  return {
    counts(accountId, from, to, unit) {
      const at = startMark(unit);
      return evidence
        .selectFrom('evidence_hours')
        .select([at.as('at'), 'rule', sumOf('calls').as('calls'), sumOf('blocks').as('blocks')])
        .select(sumOf('model_errors').as('modelErrors'))
        .where('account_id', '=', accountId)
        .where('hour', '>=', from)
        .where('hour', '<', to)
        .groupBy([at, 'rule'])
        .orderBy(at)
        .orderBy('rule')
        .execute();
    },
    latencies(accountId, from, to, unit) {
      const at = startMark(unit);
      return evidence
        .selectFrom('evidence_latencies')
        .select([at.as('at'), 'step', sumOf('calls').as('calls')])
        .where('account_id', '=', accountId)
        .where('hour', '>=', from)
        .where('hour', '<', to)
        .groupBy([at, 'step'])
        .orderBy(at)
        .orderBy('step')
        .execute();
    },
    versions(accountId) {
      const rows = evidence
        .selectFrom('evidence_versions')
        .select(['rules_version as rulesVersion', 'ml_version as mlVersion', 'rule', 'first_at as firstAt'])
        .select(['last_at as lastAt', 'calls', 'blocks', 'false_alarms as falseAlarms'])
        .select('missed_attacks as missedAttacks');
      return rows.where('account_id', '=', accountId).execute();
    },
  };
}
