import type { Database, Statement } from 'better-sqlite3';
import { errorCode } from '../../engine/errors.js';
import type { EvidenceOwn } from '../sql/evidence/evidence.js';
import { type Counted, type CountedRow, toHourRow, toLatencyRow, toVersionRow } from '../sql/evidence/evidence-row.js';
import { EVIDENCE_COLUMNS, type EvidenceRow } from '../sql/tables.js';
import { StoreError } from '../store-error.js';
import type { Commits, WriteBuffer } from './commits.js';
import { openIndexedText, type SearchMark } from './search-index.js';

/** Writes one record; to be called inside a commit. */
export function embeddedAppend(db: Database, counts: AddedCounts, mark: SearchMark): (row: CountedRow) => void {
  const insert = db.prepare<[EvidenceRow]>(`${insertInto('evidence', EVIDENCE_COLUMNS)} ON CONFLICT (seq) DO NOTHING`);
  const unsearched = db.prepare<[number]>('INSERT INTO evidence_unsearched (seq) VALUES (?)');
  return (row) => {
    let { seq } = row;
    try {
      while (insert.run({ ...row, seq }).changes === 0) seq += 1;
    } catch (error) {
      if (errorCode(error) === 'SQLITE_CONSTRAINT_UNIQUE')
        throw new StoreError('STORE_CONFLICT', `there is evidence "${row.id}" already`);
      throw error;
    }
    if (row.text !== null && seq <= mark.at()) unsearched.run(seq);
    counts.add(row);
  };
}

/** Deletes old records with what the search index has of them. */
export function embeddedDelete(db: Database, commits: Commits, mark: SearchMark): EvidenceOwn['deleteBefore'] {
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

/** Sums of a commit's records for the counts that are kept beside them. */
export interface AddedCounts extends WriteBuffer {
  add(record: Counted): void;
}

export function addedCounts(db: Database): AddedCounts {
  const open = (table: string, keys: readonly string[], counts: readonly string[]) =>
    new CountTable(db, table, ['account_id', ...keys], counts);
  const sums = ['calls', 'blocks', 'model_errors', 'latency_sum', 'latency_max'];
  const hours = open('evidence_hours', ['hour', 'rule'], sums);
  const latencies = open('evidence_latencies', ['hour', 'step'], ['calls']);
  const marks = ['first_at', 'last_at', 'calls', 'blocks', 'false_alarms', 'missed_attacks'];
  const versions = open('evidence_versions', ['rules_version', 'ml_version', 'rule'], marks);
  const all = [hours, latencies, versions];
  return {
    add(record) {
      hours.add(toHourRow(record));
      latencies.add(toLatencyRow(record));
      versions.add(toVersionRow(record));
    },
    write: () => all.forEach((table) => void table.write()),
    drop: () => all.forEach((table) => void table.drop()),
  };
}

/** Columns of counts in which the smaller or the larger of two values stays; values of the others are added. */
const KEPT: Readonly<Record<string, 'min' | 'max'>> = { first_at: 'min', last_at: 'max' };

/** Rows of a table of counts that a commit adds to it, one statement for each row that they change. */
class CountTable implements WriteBuffer {
  readonly #keys: readonly string[];
  readonly #counts: readonly string[];
  readonly #upsert: Statement;
  readonly #rows = new Map<string, Record<string, string | number>>();

  constructor(db: Database, table: string, keys: readonly string[], counts: readonly string[]) {
    const changes = counts.map((it) => {
      const kept = KEPT[it];
      return `${it} = ${kept === undefined ? `${it} + excluded.${it}` : `${kept}(${it}, excluded.${it})`}`;
    });
    this.#keys = keys;
    this.#counts = counts;
    this.#upsert = db.prepare(
      `${insertInto(table, [...keys, ...counts])} ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${changes.join(', ')}`,
    );
  }

  add(row: Readonly<Record<string, string | number>>): void {
    const name = this.#keys.map((key) => row[key]).join(' ');
    const sums = this.#rows.get(name);
    if (sums === undefined) {
      this.#rows.set(name, { ...row });
      return;
    }
    for (const column of this.#counts) {
      const [sum, value] = [Number(sums[column]), Number(row[column])];
      const kept = KEPT[column];
      sums[column] = kept === undefined ? sum + value : Math[kept](sum, value);
    }
  }

  write(): void {
    for (const row of this.#rows.values()) this.#upsert.run(row);
    this.drop();
  }

  drop(): void {
    this.#rows.clear();
  }
}

function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((it) => `@${it}`).join(', ')})`;
}
