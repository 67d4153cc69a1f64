import type { Database, Statement } from 'better-sqlite3';
import { errorCode } from '../../engine/errors.js';
import type { EvidenceOwn } from '../sql/evidence/evidence.js';
import { type Counted, type CountedRow, toHourRow, toLatencyRow, toVersionRow } from '../sql/evidence/evidence-row.js';
import { EVIDENCE_COLUMNS, type EvidenceRow } from '../sql/tables.js';
import { StoreError } from '../store-error.js';
import type { GroupCommit, Tally } from './group-commit.js';
import { openIndexedText, type SearchMark } from './search-index.js';

/** Writes one record; to be called inside a commit. */
export function embeddedAppend(db: Database, counts: AddedCounts, mark: SearchMark): (row: CountedRow) => void {
  const insert = db.prepare<[EvidenceRow]>(`${insertInto('evidence', EVIDENCE_COLUMNS)} ON CONFLICT (seq) DO NOTHING`);
  const unsearched = db.prepare<[number]>('INSERT INTO evidence_unsearched (seq) VALUES (?)');
  return (row) => {
    const { is_model_error: _isModelError, ...columns } = row;
    let { seq } = row;
    try {
      while (insert.run({ ...columns, seq }).changes === 0) seq += 1;
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

/** Sums of a commit's records for the counts that are kept beside them. */
export interface AddedCounts extends Tally {
  add(record: Counted): void;
}

/** Counts of a commit. */
export function addedCounts(db: Database): AddedCounts {
  const hours = new CountTable(db, 'evidence_hours', ['account_id', 'hour', 'rule']);
  const latencies = new CountTable(db, 'evidence_latencies', ['account_id', 'hour', 'step']);
  const versions = new CountTable(db, 'evidence_versions', ['account_id', 'rules_version', 'ml_version', 'rule']);
  const all = [hours, latencies, versions];
  return {
    add(record) {
      hours.add(toHourRow(record));
      latencies.add(toLatencyRow(record));
      versions.add(toVersionRow(record));
    },
    write() {
      for (const table of all) table.write();
    },
    drop() {
      for (const table of all) table.drop();
    },
  };
}

/** Columns of counts in which the smaller or the larger of two values stays; values of the others are added. */
const KEPT: Readonly<Record<string, 'min' | 'max'>> = { latency_max: 'max', first_at: 'min', last_at: 'max' };

/** Rows of a table of counts that a commit adds to it, one statement for each row that they change. */
class CountTable implements Tally {
  readonly #db: Database;
  readonly #table: string;
  readonly #keys: readonly string[];
  readonly #rows = new Map<string, Record<string, string | number>>();
  #statement: Statement | undefined;

  constructor(db: Database, table: string, keys: readonly string[]) {
    this.#db = db;
    this.#table = table;
    this.#keys = keys;
  }

  add(row: Readonly<Record<string, string | number>>): void {
    const name = this.#keys.map((key) => row[key]).join(' ');
    const sums = this.#rows.get(name);
    if (sums === undefined) {
      this.#rows.set(name, { ...row });
      return;
    }
    for (const column of this.#counts(row)) {
      const [sum, value] = [Number(sums[column]), Number(row[column])];
      const kept = KEPT[column];
      sums[column] = kept === undefined ? sum + value : Math[kept](sum, value);
    }
  }

  write(): void {
    for (const row of this.#rows.values()) {
      this.#statement ??= this.#db.prepare(this.#upsert(row));
      this.#statement.run(row);
    }
    this.drop();
  }

  drop(): void {
    this.#rows.clear();
  }

  #counts(row: object): readonly string[] {
    return Object.keys(row).filter((column) => !this.#keys.includes(column));
  }

  #upsert(row: object): string {
    const changes = this.#counts(row).map((it) => {
      const kept = KEPT[it];
      return `${it} = ${kept === undefined ? `${it} + excluded.${it}` : `${kept}(${it}, excluded.${it})`}`;
    });
    return `${insertInto(this.#table, Object.keys(row))}
      ON CONFLICT (${this.#keys.join(', ')}) DO UPDATE SET ${changes.join(', ')}`;
  }
}

function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((it) => `@${it}`).join(', ')})`;
}
