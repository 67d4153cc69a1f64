import type { Database } from 'better-sqlite3';
import { foldText } from './fold-text.js';
import type { GroupCommit } from './group-commit.js';
import type { SearchMark } from './search-mark.js';
import { stretchMark } from './search-query.js';
import { openSearchStretches } from './search-stretches.js';

/** Fills the search index behind the callers' backs: indexing a text takes longer than writing it. */
export interface SearchIndex {
  /** Indexes all that waits. */
  drain(): Promise<void>;
  close(): void;
}

const sliceMs = 8;
const longSliceMs = 200;
const restMs = 25;
/**
 * While calls come in: the index takes a twelfth of the time, and what it lags behind is read without it. What stands in
 * SQLite's hands when a slice ends takes longer to write than to hand over: so the rest goes by the whole.
 */
const loadedRests = 11;
const idleMs = 250;
/** With more calls than this waiting for a commit, indexing waits. */
const busy = 32;
/** More writes than this since the last slice are calls that come in. */
const few = 8;

interface Waiting {
  readonly seq: number;
  readonly text: string | null;
  readonly number: number | null;
}

const atOnce = 64;

/** The search index of a database. */
export function openSearchIndex(db: Database, commits: GroupCommit, mark: SearchMark): SearchIndex {
  const late = db.prepare<[], Waiting>(
    `SELECT u.seq AS seq, e.text AS text, a.number AS number FROM evidence_unsearched u
     LEFT JOIN evidence e ON e.seq = u.seq LEFT JOIN accounts a ON a.id = e.account_id ORDER BY u.seq LIMIT ${atOnce}`,
  );
  const next = db.prepare<[number], Waiting>(
    `SELECT e.seq AS seq, e.text AS text, a.number AS number FROM evidence e
     LEFT JOIN accounts a ON a.id = e.account_id WHERE e.seq > ? ORDER BY e.seq LIMIT ${atOnce}`,
  );
  const waits = db
    .prepare<[], number>(
      `SELECT EXISTS (SELECT 1 FROM evidence_unsearched)
         OR EXISTS (SELECT 1 FROM evidence WHERE seq > (SELECT seq FROM evidence_indexed))`,
    )
    .pluck();
  const add = db.prepare<[number, string]>('INSERT INTO evidence_search (rowid, text) VALUES (?, ?)');
  const done = db.prepare<[number]>('DELETE FROM evidence_unsearched WHERE seq = ?');
  const stretches = openSearchStretches(db);
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let asked = 0;
  /** The last slice, milliseconds. */
  let took = 0;

  const index = ({ seq, text, number }: Waiting, isLate: boolean): void => {
    if (text === null || number === null) return;
    add.run(seq, `${stretchMark(stretches.take(number, seq, isLate))}${foldText(text)}`);
  };

  /** Indexes for about `ms`; true where more waits. */
  const indexFor = (ms: number): boolean => {
    const started = performance.now();
    const isOver = (): boolean => performance.now() - started > ms;
    for (let rows = late.all(); rows.length > 0; rows = late.all()) {
      for (const row of rows) {
        index(row, true);
        done.run(row.seq);
        if (isOver()) return true;
      }
    }
    let at = mark.at();
    const begin = at;
    let more = true;
    while (more && !isOver()) {
      const rows = next.all(at);
      more = rows.length > 0;
      for (const row of rows) {
        index(row, false);
        at = row.seq;
        if (isOver()) break;
      }
    }
    if (at !== begin) mark.moveTo(at);
    return more;
  };

  const slice = (ms: number): boolean => {
    const started = performance.now();
    try {
      return indexFor(ms);
    } finally {
      // Also for what stands in the index when a later record fails.
      stretches.write();
      took = performance.now() - started;
    }
  };

  const plan = (wait: number): void => {
    if (closed) return;
    timer = setTimeout(async () => {
      let more = true;
      const loaded = commits.asked - asked > few;
      try {
        if (commits.waiting < busy && waits.get() === 1) more = await commits.runAhead(() => slice(sliceMs));
        else more = commits.waiting >= busy;
      } catch {
        // A full disk or a busy database: what waits is searched without the index until it works again.
        more = false;
      }
      asked = commits.asked;
      plan(more ? (loaded ? Math.max(restMs, loadedRests * took) : restMs) : idleMs);
    }, wait);
    timer.unref();
  };
  plan(idleMs);

  return {
    async drain() {
      while (await commits.run(() => slice(longSliceMs)));
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
