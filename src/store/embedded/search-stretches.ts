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
  readonly first: number;
  readonly last: number;
}

/** So many that a query pays, so few that one takes some milliseconds whatever the words. */
const stretchSize = 8_192;

/** The stretches of a database. Only to be asked inside a commit. */
export function openSearchStretches(db: Database): SearchStretches {
  const newest = db.prepare<[number, number], Stretch>(
    'SELECT id, low, high, records, first, last FROM evidence_stretches WHERE account = ? AND late = ? ORDER BY id DESC LIMIT 1',
  );
  const indexed = db.prepare<[], number>('SELECT coalesce(max(last), 0) FROM evidence_stretches').pluck();
  const add = db.prepare<number[]>(
    'INSERT INTO evidence_stretches (account, late, low, high, records, first, last) VALUES (?, ?, ?, ?, 1, ?, ?)',
  );
  const change = db.prepare<number[]>(
    'UPDATE evidence_stretches SET low = ?, high = ?, records = ?, last = ? WHERE id = ?',
  );
  const open = new Map<string, Stretch>();
  let count: number | undefined;
  const note = ({ id, low, high, records, last }: Stretch): void => {
    change.run(low, high, records, last, id);
  };
  return {
    take(account, seq, late) {
      count = (count ?? indexed.get() ?? 0) + 1;
      const name = `${account} ${late}`;
      const known = open.get(name) ?? newest.get(account, Number(late));
      if (known && known.records < stretchSize) {
        const [low, high] = [Math.min(known.low, seq), Math.max(known.high, seq)];
        open.set(name, { ...known, low, high, records: known.records + 1, last: count });
        return known.id;
      }
      if (known) note(known);
      const id = Number(add.run(account, Number(late), seq, seq, count, count).lastInsertRowid);
      open.set(name, { id, low: seq, high: seq, records: 1, first: count, last: count });
      return id;
    },
    write() {
      for (const stretch of open.values()) note(stretch);
      open.clear();
      // Another process may index before the next commit.
      count = undefined;
    },
  };
}
