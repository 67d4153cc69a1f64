import type { Database } from 'better-sqlite3';

/**
 * Stretches of the search index: an account's records in the order in which they were indexed, a few thousand each. SQLite's
 * walk through the lists of several trigrams ends only where they meet, so words that are frequent and never meet make it read
 * everything that it has; with a stretch's mark among them it ends with the stretch.
 */
export interface SearchStretches {
  /** The stretch that a record is indexed in; late ones have stretches of their own, since theirs may be long. */
  take(account: number, seq: number, late: boolean): number;
  /** Notes what was taken, in the same commit. */
  write(): void;
}

interface Stretch {
  readonly id: number;
  readonly low: number;
  readonly high: number;
  readonly records: number;
}

/** So many that a query pays, so few that one takes some milliseconds whatever the words. */
const stretchSize = 8_192;

/** The stretches of a database. Only to be asked inside a commit. */
export function openSearchStretches(db: Database, size: number = stretchSize): SearchStretches {
  const newest = db.prepare<[number, number], Stretch>(
    'SELECT id, low, high, records FROM evidence_stretches WHERE account = ? AND late = ? ORDER BY id DESC LIMIT 1',
  );
  const add = db.prepare<[number, number, number, number]>(
    'INSERT INTO evidence_stretches (account, late, low, high, records) VALUES (?, ?, ?, ?, 0)',
  );
  const change = db.prepare<[number, number, number, number]>(
    'UPDATE evidence_stretches SET low = ?, high = ?, records = ? WHERE id = ?',
  );
  const open = new Map<string, Stretch>();
  const note = ({ id, low, high, records }: Stretch): void => {
    change.run(low, high, records, id);
  };
  return {
    take(account, seq, late) {
      const name = `${account} ${late}`;
      const known = open.get(name) ?? newest.get(account, Number(late));
      if (known && known.records < size) {
        const { id, low, high, records } = known;
        open.set(name, { id, low: Math.min(low, seq), high: Math.max(high, seq), records: records + 1 });
        return id;
      }
      if (known) note(known);
      const id = Number(add.run(account, Number(late), seq, seq).lastInsertRowid);
      open.set(name, { id, low: seq, high: seq, records: 1 });
      return id;
    },
    write() {
      for (const stretch of open.values()) note(stretch);
      open.clear();
    },
  };
}
