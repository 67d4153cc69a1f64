import type { Database } from 'better-sqlite3';
import type { EvidenceRecord } from '../../evidence/evidence-record.js';
import { hourOf, latencyRowOf, versionOf } from '../sql/evidence-row.js';
import type { Tables } from '../sql/tables.js';
import type { Tally } from './tally.js';

type Hour = Tables['evidence_hours'];
type Latency = Tables['evidence_latencies'];
type Version = Tables['evidence_versions'];

/** What the records of a commit add to the counts that are kept beside them. */
export interface AddedCounts extends Tally {
  add(record: EvidenceRecord): void;
}

/** Counts of a commit, one statement for each row that they change. */
export function addedCounts(db: Database): AddedCounts {
  const writeHour = db.prepare<[Hour]>(
    `INSERT INTO evidence_hours (account_id, hour, rule, calls, blocks, model_errors, latency_sum, latency_max)
     VALUES (@account_id, @hour, @rule, @calls, @blocks, @model_errors, @latency_sum, @latency_max)
     ON CONFLICT (account_id, hour, rule) DO UPDATE SET
       calls = calls + excluded.calls, blocks = blocks + excluded.blocks, model_errors = model_errors + excluded.model_errors,
       latency_sum = latency_sum + excluded.latency_sum, latency_max = max(latency_max, excluded.latency_max)`,
  );
  const writeLatency = db.prepare<[Latency]>(
    `INSERT INTO evidence_latencies (account_id, hour, step, calls) VALUES (@account_id, @hour, @step, @calls)
     ON CONFLICT (account_id, hour, step) DO UPDATE SET calls = calls + excluded.calls`,
  );
  const writeVersion = db.prepare<[Version]>(
    `INSERT INTO evidence_versions (account_id, rules_version, ml_version, rule, first_at, last_at, calls, blocks,
       false_alarms, missed_attacks)
     VALUES (@account_id, @rules_version, @ml_version, @rule, @first_at, @last_at, @calls, @blocks,
       @false_alarms, @missed_attacks)
     ON CONFLICT (account_id, rules_version, ml_version, rule) DO UPDATE SET
       first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at),
       calls = calls + excluded.calls, blocks = blocks + excluded.blocks,
       false_alarms = false_alarms + excluded.false_alarms, missed_attacks = missed_attacks + excluded.missed_attacks`,
  );
  const hours = new Map<string, Hour>();
  const latencies = new Map<string, Latency>();
  const versions = new Map<string, Version>();

  const drop = (): void => {
    hours.clear();
    latencies.clear();
    versions.clear();
  };
  return {
    add(record) {
      const hour = hourOf(record);
      join(hours, `${hour.account_id} ${hour.hour} ${hour.rule}`, hour, moreHours);
      const latency = latencyRowOf(record);
      join(latencies, `${latency.account_id} ${latency.hour} ${latency.step}`, latency, moreLatencies);
      const it = versionOf(record);
      join(versions, `${it.account_id} ${it.rules_version} ${it.ml_version} ${it.rule}`, it, moreVersions);
    },
    write() {
      for (const it of hours.values()) writeHour.run(it);
      for (const it of latencies.values()) writeLatency.run(it);
      for (const it of versions.values()) writeVersion.run(it);
      drop();
    },
    drop,
  };
}

function join<T>(rows: Map<string, T>, name: string, row: T, sum: (a: T, b: T) => T): void {
  const there = rows.get(name);
  rows.set(name, there === undefined ? row : sum(there, row));
}

const moreHours = (a: Hour, b: Hour): Hour => ({
  ...a,
  calls: a.calls + b.calls,
  blocks: a.blocks + b.blocks,
  model_errors: a.model_errors + b.model_errors,
  latency_sum: a.latency_sum + b.latency_sum,
  latency_max: Math.max(a.latency_max, b.latency_max),
});

const moreLatencies = (a: Latency, b: Latency): Latency => ({ ...a, calls: a.calls + b.calls });

const moreVersions = (a: Version, b: Version): Version => ({
  ...a,
  first_at: Math.min(a.first_at, b.first_at),
  last_at: Math.max(a.last_at, b.last_at),
  calls: a.calls + b.calls,
  blocks: a.blocks + b.blocks,
  false_alarms: a.false_alarms + b.false_alarms,
  missed_attacks: a.missed_attacks + b.missed_attacks,
});
