import type { Database } from 'better-sqlite3';
import type { EvidenceOwn } from '../sql/evidence/evidence.js';
import { type Counted, type CountedRow, toHourRow, toLatencyRow, toVersionRow } from '../sql/evidence/evidence-row.js';
import type { EvidenceTables } from '../sql/tables.js';
import { StoreError } from '../store-error.js';
import type { GroupCommit, Tally } from './group-commit.js';
import { openIndexedText, type SearchMark } from './search-index.js';

type Value = string | number | null;

/** Writes one record; to be called inside a commit. */
export function embeddedAppend(db: Database, counts: AddedCounts, mark: SearchMark): (row: CountedRow) => void {
  const insert = db.prepare<Value[]>(
    `INSERT INTO evidence (seq, id, account_id, key_id, verdict, rule, decided_by, router_level, channel, label, text, record, run)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO NOTHING`,
  );
  const unsearched = db.prepare<[number]>('INSERT INTO evidence_unsearched (seq) VALUES (?)');
  return (row) => {
    const { id, account_id, key_id, verdict, rule, decided_by, router_level, channel, label, text, record, run } = row;
    let { seq } = row;
    const isWritten = (): boolean =>
      insert.run(
        ...[seq, id, account_id, key_id, verdict, rule, decided_by, router_level, channel, label, text, record, run],
      ).changes > 0;
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

/** Deletes old records with what the search index has of them. */
export function embeddedDelete(db: Database, commits: GroupCommit, mark: SearchMark): EvidenceOwn['deleteBefore'] {
  const old = db.prepare<[string, number, number], { readonly seq: number; readonly text: string | null }>(
    'SELECT seq, text FROM evidence WHERE account_id = ? AND seq < ? ORDER BY seq LIMIT ?',
  );
  const waits = db.prepare<[number]>('DELETE FROM evidence_unsearched WHERE seq = ?');
  const indexed = openIndexedText(db);
  const remove = db.prepare<[number]>('DELETE FROM evidence WHERE seq = ?');
  return (accountId, before, limit) =>
    commits.run(() => {
      const rows = old.all(accountId, before, limit);
      for (const { seq, text } of rows) {
        const isLate = waits.run(seq).changes > 0;
        if (text !== null && !isLate && seq <= mark.at()) indexed.remove(seq, text);
        remove.run(seq);
      }
      return rows.length;
    });
}

type Sums<Row> = { -readonly [Name in keyof Row]: Row[Name] };
type Hour = Sums<EvidenceTables['evidence_hours']>;
type Latency = Sums<EvidenceTables['evidence_latencies']>;
type Version = Sums<EvidenceTables['evidence_versions']>;

/** Sums of a commit's records for the counts that are kept beside them. */
export interface AddedCounts extends Tally {
  add(record: Counted): void;
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
      const hour = toHourRow(record);
      join(hours, `${hour.account_id} ${hour.hour} ${hour.rule}`, hour, addHour);
      const latency = toLatencyRow(record);
      join(latencies, `${latency.account_id} ${latency.hour} ${latency.step}`, latency, addLatency);
      const it = toVersionRow(record);
      join(versions, `${it.account_id} ${it.rules_version} ${it.ml_version} ${it.rule}`, it, addVersion);
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

/** Adds a row to the one of its name; a row that is added is the tally's own from then on. */
function join<T>(rows: Map<string, T>, name: string, row: T, add: (sums: T, row: T) => void): void {
  const sums = rows.get(name);
  if (sums === undefined) rows.set(name, row);
  else add(sums, row);
}

function addHour(sums: Hour, row: Hour): void {
  sums.calls += row.calls;
  sums.blocks += row.blocks;
  sums.model_errors += row.model_errors;
  sums.latency_sum += row.latency_sum;
  sums.latency_max = Math.max(sums.latency_max, row.latency_max);
}

function addLatency(sums: Latency, row: Latency): void {
  sums.calls += row.calls;
}

function addVersion(sums: Version, row: Version): void {
  sums.first_at = Math.min(sums.first_at, row.first_at);
  sums.last_at = Math.max(sums.last_at, row.last_at);
  sums.calls += row.calls;
  sums.blocks += row.blocks;
  sums.false_alarms += row.false_alarms;
  sums.missed_attacks += row.missed_attacks;
}
