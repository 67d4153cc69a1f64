import type { Database } from 'better-sqlite3';
import type { GroupCommit } from './group-commit.js';

/** Fills the search index behind the callers' backs: indexing a text takes longer than writing it. */
export interface SearchIndex {
  /** Indexes all that waits. */
  drain(): Promise<void>;
  close(): void;
}

const sliceMs = 8;
const longSliceMs = 200;
const restMs = 25;
/** While calls wait for a commit: the index takes a twelfth of the time, and what it lags behind is read without it. */
const loadedRestMs = 100;
const idleMs = 250;
/** With more calls than this waiting for a commit, indexing waits. */
const busy = 32;
const privateUse = 0xe000;
const privateUses = 6400;

/** An account's number as one trigram that no text has: a search then leaps over other accounts' records. */
const accountMark = (number: number): string =>
  String.fromCharCode(
    privateUse + (Math.floor(number / privateUses ** 2) % privateUses),
    privateUse + (Math.floor(number / privateUses) % privateUses),
    privateUse + (number % privateUses),
  );

/** The query for a part of a text in an account's records. */
export const searchQuery = (number: number, text: string): string =>
  `"${accountMark(number)}" AND "${text.replaceAll('"', '""')}"`;

/** The search index of a database. */
export function openSearchIndex(db: Database, commits: GroupCommit): SearchIndex {
  const next = db.prepare<[], { readonly seq: number; readonly text: string | null; readonly number: number | null }>(
    `SELECT u.seq AS seq, e.text AS text, a.number AS number FROM evidence_unsearched u
     LEFT JOIN evidence e ON e.seq = u.seq LEFT JOIN accounts a ON a.id = e.account_id ORDER BY u.seq LIMIT 64`,
  );
  const add = db.prepare<[number, string]>('INSERT INTO evidence_search (rowid, text) VALUES (?, ?)');
  const done = db.prepare<[number]>('DELETE FROM evidence_unsearched WHERE seq = ?');
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  /** Indexes for about `ms`; true where more waits. */
  const slice = (ms: number): boolean => {
    const started = performance.now();
    for (;;) {
      const rows = next.all();
      for (const { seq, text, number } of rows) {
        if (text !== null && number !== null) add.run(seq, `${accountMark(number)}${text}`);
        done.run(seq);
        if (performance.now() - started > ms) return true;
      }
      if (rows.length === 0) return false;
    }
  };

  const plan = (wait: number): void => {
    if (closed) return;
    timer = setTimeout(async () => {
      let more = true;
      const loaded = commits.waiting > 0;
      try {
        if (commits.waiting < busy && next.get() !== undefined) more = await commits.runAhead(() => slice(sliceMs));
        else more = commits.waiting >= busy;
      } catch {
        // A full disk or a busy database: what waits is searched without the index until it works again.
        more = false;
      }
      plan(more ? (loaded ? loadedRestMs : restMs) : idleMs);
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
