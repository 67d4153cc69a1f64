import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { StoreError } from '../store-error.js';
import { foldText } from './search-terms.js';

/** A connection to an embedded database that waits so long where another one writes. */
export function connect(file: string, busyMs: number): Database {
  const db = new Sqlite(file, { timeout: busyMs });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  // What is deleted is overwritten, in tables and in the search index.
  db.pragma('secure_delete = ON');
  db.pragma('cache_size = -65536');
  db.function('text_contains', { deterministic: true }, (text, part) =>
    typeof text === 'string' && foldText(text).includes(String(part)) ? 1 : 0,
  );
  return db;
}

/**
 * The write-ahead log of a connection whose commits needn't sync it: a sync of our own is the same as SQLite's, and runs
 * while this thread works on. SQLite still syncs when it moves the log into the database. @see https://sqlite.org/wal.html
 */
export async function openLog(db: Database, file: string): Promise<FileHandle> {
  db.pragma('synchronous = NORMAL');
  // The log is made by the first one who reads.
  db.prepare('SELECT name FROM notes LIMIT 1').get();
  return open(`${file}-wal`, 'r+');
}

/** How long a server that is just ending may hold the folder, milliseconds. */
const patienceMs = 3_000;

/**
 * Takes a data folder for one server, until the function returned is called or this process ends, however it ends: the
 * kernel drops the lock. Commands of `portcullis admin` don't ask for it.
 *
 * @throws StoreError `STORE_CONFLICT` where another server has it
 */
export function lockFolder(folder: string): () => void {
  const lock = new Sqlite(join(folder, 'serve.lock'), { timeout: patienceMs });
  try {
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!code.startsWith('SQLITE_BUSY')) throw error;
    throw new StoreError(
      'STORE_CONFLICT',
      `another "portcullis serve" runs on ${folder}: an embedded database has one server; replicas share PostgreSQL (--database-url)`,
    );
  }
  return () => {
    if (lock.open) lock.close();
  };
}

/** A file that is there only to be deleted: on a full disk SQLite can't even delete rows or shrink its log. */
export interface Ballast {
  /** Gives its room to the database. */
  release(): void;
  /** Puts it back where there is room again; false where there isn't. */
  restore(): boolean;
  readonly there: boolean;
}

const bytes = 16 * 1024 * 1024;
/** Room beyond the ballast that must be free before it is put back. */
const spare = 16 * 1024 * 1024;

/** The ballast of a data folder, put there if it is missing and there is room. */
export function openBallast(folder: string, file: string): Ballast {
  const room = (): boolean => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= bytes + spare;
  };
  const restore = (): boolean => {
    if (existsSync(file)) return true;
    if (!room()) return false;
    try {
      writeFileSync(file, Buffer.alloc(bytes), { mode: 0o600 });
      return true;
    } catch {
      // Someone else was faster with the room.
      rmSync(file, { force: true });
      return false;
    }
  };
  restore();
  return {
    release: () => rmSync(file, { force: true }),
    restore,
    get there() {
      return existsSync(file);
    },
  };
}

/** Everything that SQLite can verify, the search index too; one line for each fault. */
export function embeddedCheck(db: Database, ballast: Ballast): readonly string[] {
  const problems: string[] = [];
  const found = db.pragma('integrity_check') as readonly { readonly integrity_check: string }[];
  problems.push(...found.map((row) => row.integrity_check).filter((line) => line !== 'ok'));
  const orphans = db.pragma('foreign_key_check') as readonly { readonly table: string }[];
  problems.push(...orphans.map((row) => `${row.table}: a row refers to one that isn't there`));
  for (const table of ['evidence_search', 'evidence_bigrams'])
    try {
      db.prepare(`INSERT INTO ${table} (${table}) VALUES ('integrity-check')`).run();
    } catch (error) {
      problems.push(`search index: ${error instanceof Error ? error.message : 'unknown error'}`);
    }
  if (!ballast.there) problems.push('the disk is full');
  return problems;
}
