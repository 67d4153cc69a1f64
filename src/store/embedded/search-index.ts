import type { Database, Statement } from 'better-sqlite3';
import type { Commits, WriteBuffer } from './commits.js';
import { cjkBigrams, foldText } from './search-terms.js';

/**
 * Progress of the search index. It has every record up to the mark, but for those that the table
 * `evidence_unsearched` names: records that came later with an earlier time. Only to be asked inside a commit.
 */
export interface SearchMark extends WriteBuffer {
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

/** Fills the search index behind the callers' backs: indexing a text takes longer than writing it. */
export class SearchIndex {
  readonly #commits: Commits;
  readonly #mark: SearchMark;
  readonly #indexed: IndexedText;
  readonly #late: Statement<[], Waiting>;
  readonly #next: Statement<[number], Waiting>;
  readonly #done: Statement<[number]>;
  readonly #waits: Statement<[], number>;
  readonly #changes: Statement<[], number>;
  readonly #merges: readonly Statement<[number]>[];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Commits asked for at the last look. */
  #asked = 0;
  /** Records that the index lacks, about. */
  #behind: number;
  /** The last slice, milliseconds. */
  #took = 0;

  constructor(db: Database, commits: Commits, mark: SearchMark) {
    this.#commits = commits;
    this.#mark = mark;
    this.#indexed = openIndexedText(db);
    this.#late = db.prepare(
      `SELECT u.seq AS seq, e.text AS text FROM evidence_unsearched u
       LEFT JOIN evidence e ON e.seq = u.seq ORDER BY u.seq LIMIT ${AT_ONCE}`,
    );
    this.#next = db.prepare(`SELECT seq, text FROM evidence WHERE seq > ? ORDER BY seq LIMIT ${AT_ONCE}`);
    this.#done = db.prepare('DELETE FROM evidence_unsearched WHERE seq = ?');
    const past = 'FROM evidence WHERE seq > (SELECT seq FROM evidence_indexed)';
    this.#waits = db
      .prepare<[], number>(`SELECT EXISTS (SELECT 1 FROM evidence_unsearched) OR EXISTS (SELECT 1 ${past})`)
      .pluck();
    this.#changes = db.prepare<[], number>('SELECT total_changes()').pluck();
    this.#merges = ['evidence_search', 'evidence_bigrams'].map((table) =>
      db.prepare(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`),
    );
    const behind = db.prepare<[], number>(`SELECT count(*) FROM (SELECT 1 ${past} LIMIT ${MOST_BEHIND})`).pluck();
    this.#behind = behind.get() as number;
    this.#plan(IDLE_MS);
  }

  /** Indexes all that waits. */
  async drain(): Promise<void> {
    while (await this.#commits.run(() => this.#slice(LONG_SLICE_MS)));
  }

  /** Merges the index into one segment, so that nothing is left in the file of the texts that were deleted. */
  async rewrite(): Promise<void> {
    for (const merge of this.#merges) {
      // A negative number begins a merge of all segments; a step of fewer than two changes had nothing left to do.
      const step = (pages: number) => (): number => {
        const before = this.#changes.get() as number;
        merge.run(pages);
        return (this.#changes.get() as number) - before;
      };
      let changed = await this.#commits.run(step(-MERGE_PAGES));
      while (changed >= 2) changed = await this.#commits.run(step(MERGE_PAGES));
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #plan(wait: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#goOn(wait).then((next) => this.#plan(next)), wait);
    this.#timer.unref();
  }

  /** Indexes a slice unless calls come in; gives the wait before the next one. */
  async #goOn(waited: number): Promise<number> {
    const written = this.#commits.asked - this.#asked;
    this.#asked = this.#commits.asked;
    this.#behind += written;
    const isLoaded = written > FEW * (waited / REST_MS) || this.#commits.waiting > FEW;
    if (isLoaded && this.#behind < MOST_BEHIND) return IDLE_MS;
    let more = false;
    try {
      more = this.#waits.get() === 1 && (await this.#commits.runAhead(() => this.#slice(SLICE_MS)));
      if (!more) this.#behind = 0;
    } catch {
      // A full disk or a busy database: what waits is searched without the index until it works again.
    }
    // The slice itself is no call.
    this.#asked = this.#commits.asked;
    return more ? Math.max(REST_MS, this.#took) : IDLE_MS;
  }

  #slice(ms: number): boolean {
    const started = performance.now();
    try {
      return this.#indexFor(ms);
    } finally {
      this.#took = performance.now() - started;
    }
  }

  /** Indexes for about `ms`; true where more waits. */
  #indexFor(ms: number): boolean {
    const started = performance.now();
    const isOver = (): boolean => performance.now() - started > ms;
    for (let rows = this.#late.all(); rows.length > 0; rows = this.#late.all()) {
      for (const row of rows) {
        this.#index(row);
        this.#done.run(row.seq);
        if (isOver()) return true;
      }
    }
    const begin = this.#mark.at();
    let at = begin;
    let more = true;
    while (more && !isOver()) {
      const rows = this.#next.all(at);
      more = rows.length > 0;
      for (const row of rows) {
        this.#index(row);
        at = row.seq;
        if (isOver()) break;
      }
    }
    if (at !== begin) this.#mark.moveTo(at);
    return more;
  }

  #index({ seq, text }: Waiting): void {
    if (text !== null) this.#indexed.add(seq, text);
  }
}
