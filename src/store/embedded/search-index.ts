import type { Database, Statement } from 'better-sqlite3';
import type { GroupCommit, Tally } from './group-commit.js';
import { cjkBigrams, foldText } from './search-terms.js';

/**
 * How far the search index has come. It has every record up to the mark, but for those that the table
 * `evidence_unsearched` names: records that came later with an earlier time. Only to be asked inside a commit.
 */
export interface SearchMark extends Tally {
  /** `seq` of the last record that the index has gone past; 0 at first. */
  at(): number;
  moveTo(seq: number): void;
}

/** The mark, read once a commit. */
export function openSearchMark(db: Database): SearchMark {
  const read = db.prepare<[], number>('SELECT seq FROM evidence_indexed').pluck();
  const move = db.prepare<[number]>('UPDATE evidence_indexed SET seq = ?');
  let known: number | undefined;
  const drop = (): void => {
    known = undefined;
  };
  return {
    at() {
      known ??= read.get() ?? 0;
      return known;
    },
    moveTo(seq) {
      move.run(seq);
      known = seq;
    },
    // Another process may move it before the next commit.
    write: drop,
    drop,
  };
}

/** The text that the search index has of a record. The index stores no texts: the text taken out must be the text put in. */
export interface IndexedText {
  add(seq: number, text: string): void;
  remove(seq: number, text: string): void;
}

/** The search index: trigrams of the folded text, and bigrams of its Chinese, Japanese and Korean parts. */
export function openIndexedText(db: Database): IndexedText {
  const [addText, addPairs] = ['evidence_search', 'evidence_bigrams'].map((table) =>
    db.prepare<[number, string]>(`INSERT INTO ${table} (rowid, text) VALUES (?, ?)`),
  ) as [Put, Put];
  const [dropText, dropPairs] = ['evidence_search', 'evidence_bigrams'].map((table) =>
    db.prepare<[number, string]>(`INSERT INTO ${table} (${table}, rowid, text) VALUES ('delete', ?, ?)`),
  ) as [Put, Put];
  const both = (text: Put, pairs: Put) => (seq: number, written: string) => {
    const folded = foldText(written);
    text.run(seq, folded);
    const bigrams = cjkBigrams(folded);
    if (bigrams !== '') pairs.run(seq, bigrams);
  };
  return { add: both(addText, addPairs), remove: both(dropText, dropPairs) };
}

type Put = Statement<[number, string]>;

/** Fills the search index behind the callers' backs: indexing a text takes longer than writing it. */
export interface SearchIndex {
  /** Indexes all that waits. */
  drain(): Promise<void>;
  /** Merges the index into one segment, so that nothing is left in the file of the texts that were deleted. */
  rewrite(): Promise<void>;
  close(): void;
}

const SLICE_MS = 8;
const LONG_SLICE_MS = 200;
const REST_MS = 25;
const IDLE_MS = 250;
/** More writes than this since the last look are calls that come in: indexing waits, since its slices would hold them up. */
const FEW = 8;
/**
 * Records that indexing may be behind while it waits for calls; a search reads them without the index. Beyond it indexing
 * takes half of the time, and so keeps up with any load.
 */
const MOST_BEHIND = 100_000;

interface Waiting {
  readonly seq: number;
  readonly text: string | null;
}

const AT_ONCE = 64;
/** Pages of the index written at once while it is rewritten: a few milliseconds. */
const MERGE_PAGES = 100;

/** The search index of a database. */
export function openSearchIndex(db: Database, commits: GroupCommit, mark: SearchMark): SearchIndex {
  const late = db.prepare<[], Waiting>(
    `SELECT u.seq AS seq, e.text AS text FROM evidence_unsearched u
     LEFT JOIN evidence e ON e.seq = u.seq ORDER BY u.seq LIMIT ${AT_ONCE}`,
  );
  const next = db.prepare<[number], Waiting>(
    `SELECT seq, text FROM evidence WHERE seq > ? ORDER BY seq LIMIT ${AT_ONCE}`,
  );
  const waits = db
    .prepare<[], number>(
      `SELECT EXISTS (SELECT 1 FROM evidence_unsearched)
         OR EXISTS (SELECT 1 FROM evidence WHERE seq > (SELECT seq FROM evidence_indexed))`,
    )
    .pluck();
  const done = db.prepare<[number]>('DELETE FROM evidence_unsearched WHERE seq = ?');
  const indexed = openIndexedText(db);
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let asked = 0;
  /** Records that the index lacks, about. */
  let behind = db
    .prepare<[], number>(
      `SELECT count(*) FROM (SELECT 1 FROM evidence WHERE seq > (SELECT seq FROM evidence_indexed) LIMIT ${MOST_BEHIND})`,
    )
    .pluck()
    .get() as number;
  /** The last slice, milliseconds. */
  let took = 0;

  const index = ({ seq, text }: Waiting): void => {
    if (text !== null) indexed.add(seq, text);
  };

  /** Indexes for about `ms`; true where more waits. */
  const indexFor = (ms: number): boolean => {
    const started = performance.now();
    const isOver = (): boolean => performance.now() - started > ms;
    for (let rows = late.all(); rows.length > 0; rows = late.all()) {
      for (const row of rows) {
        index(row);
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
        index(row);
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
      took = performance.now() - started;
    }
  };

  const plan = (wait: number): void => {
    if (closed) return;
    timer = setTimeout(async () => {
      const written = commits.asked - asked;
      asked = commits.asked;
      behind += written;
      const isLoaded = written > FEW * (wait / REST_MS) || commits.waiting > FEW;
      if (isLoaded && behind < MOST_BEHIND) {
        plan(IDLE_MS);
        return;
      }
      let more = false;
      try {
        more = waits.get() === 1 && (await commits.runAhead(() => slice(SLICE_MS)));
        if (!more) behind = 0;
      } catch {
        // A full disk or a busy database: what waits is searched without the index until it works again.
      }
      // The slice itself is no call.
      asked = commits.asked;
      plan(more ? Math.max(REST_MS, took) : IDLE_MS);
    }, wait);
    timer.unref();
  };
  plan(IDLE_MS);

  const changes = db.prepare<[], number>('SELECT total_changes()').pluck();
  const merges = ['evidence_search', 'evidence_bigrams'].map((table) =>
    db.prepare<[number]>(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`),
  );

  return {
    async rewrite() {
      for (const merge of merges) {
        // A negative number begins a merge of all segments; a step of fewer than two changes had nothing left to do.
        const step = (pages: number): number => {
          const before = changes.get() as number;
          merge.run(pages);
          return (changes.get() as number) - before;
        };
        let changed = await commits.run(() => step(-MERGE_PAGES));
        while (changed >= 2) changed = await commits.run(() => step(MERGE_PAGES));
      }
    },
    async drain() {
      while (await commits.run(() => slice(LONG_SLICE_MS)));
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
