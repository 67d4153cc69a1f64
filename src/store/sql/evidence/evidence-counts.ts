import { type RawBuilder, sql } from 'kysely';
import type { EvidenceStore } from '../../evidence-store.js';
import type { Connection } from '../connection.js';

const unitMs = { hour: 3_600_000, day: 86_400_000 } as const;

/** The start of the unit that an hour lies in. */
const startMark = (unit: keyof typeof unitMs): RawBuilder<number> =>
  sql<number>`hour - (hour % ${sql.lit(unitMs[unit])})`;

/** Opens the counts that are kept beside the records and outlive them. */
export function sqlEvidenceCounts({
  db,
}: Pick<Connection, 'db'>): Pick<EvidenceStore, 'counts' | 'latencies' | 'versions'> {
  return {
    async counts(accountId, from, to, unit) {
      const at = startMark(unit);
      const rows = await db
        .selectFrom('evidence_hours')
        .select((select) => [
          at.as('at'),
          'rule',
          select.fn.sum<number>('calls').as('calls'),
          select.fn.sum<number>('blocks').as('blocks'),
          select.fn.sum<number>('model_errors').as('modelErrors'),
          select.fn.sum<number>('latency_sum').as('latencySum'),
          select.fn.max('latency_max').as('latencyMax'),
        ])
        .where('account_id', '=', accountId)
        .where('hour', '>=', from)
        .where('hour', '<', to)
        .groupBy([at, 'rule'])
        .orderBy(at)
        .orderBy('rule')
        .execute();
      return rows.map((row) => ({
        at: Number(row.at),
        rule: row.rule,
        calls: Number(row.calls),
        blocks: Number(row.blocks),
        modelErrors: Number(row.modelErrors),
        latencySum: Number(row.latencySum),
        latencyMax: Number(row.latencyMax),
      }));
    },
    async latencies(accountId, from, to, unit) {
      const at = startMark(unit);
      const rows = await db
        .selectFrom('evidence_latencies')
        .select((select) => [at.as('at'), 'step', select.fn.sum<number>('calls').as('calls')])
        .where('account_id', '=', accountId)
        .where('hour', '>=', from)
        .where('hour', '<', to)
        .groupBy([at, 'step'])
        .orderBy(at)
        .orderBy('step')
        .execute();
      return rows.map((row) => ({ at: Number(row.at), step: Number(row.step), calls: Number(row.calls) }));
    },
    async versions(accountId) {
      const rows = await db.selectFrom('evidence_versions').selectAll().where('account_id', '=', accountId).execute();
      return rows.map((row) => ({
        rulesVersion: row.rules_version,
        mlVersion: row.ml_version,
        rule: row.rule,
        firstAt: Number(row.first_at),
        lastAt: Number(row.last_at),
        calls: Number(row.calls),
        blocks: Number(row.blocks),
        falseAlarms: Number(row.false_alarms),
        missedAttacks: Number(row.missed_attacks),
      }));
    },
  };
}
