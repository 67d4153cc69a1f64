import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { errorCode } from '../../engine/errors.js';
import { DAMAGED, StoreError } from '../store-error.js';
import { foldText } from './search-terms.js';

const PRIVATE_FILES = [
  'portcullis.db',
  'portcullis.db-wal',
  'portcullis.db-shm',
  'serve.lock',
  'ballast',
  'key-pepper',
];
/** A larger file is checked in part at a start: all of it takes a second for every few hundred MiB. */
const QUICK_BYTES = 256 * 1024 * 1024;

/**
 * Makes a data folder ready: only its owner reads its files.
 *
 * @throws StoreError `STORE_SETTINGS` where it can't be made, or lost its database
 */
export function prepareFolder(folder: string): void {
  const path = (name: string): string => join(folder, name);
  try {
    if (!existsSync(folder)) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      chmodSync(folder, 0o700);
    }
    if (existsSync(path('key-pepper')) && !statSync(path('portcullis.db'), { throwIfNoEntry: false })?.size)
      throw new StoreError(
        'STORE_SETTINGS',
        `${folder} has the pepper of a database, but its database portcullis.db is gone: restore it from a backup; to start with an empty database, move key-pepper away`,
      );
    // SQLite gives its log the mode of the database.
    for (const name of ['portcullis.db', 'serve.lock']) closeSync(openSync(path(name), 'a', 0o600));
    for (const name of PRIVATE_FILES) if (existsSync(path(name))) chmodSync(path(name), 0o600);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const code = errorCode(error);
    const why = code === '' ? '' : ` (${code})`;
    throw new StoreError('STORE_SETTINGS', `the data folder ${folder} can't be used${why}`, { cause: error });
  }
}

/**
 * A look at the structure of a file before it is served: all of it, or of a large one its length and its small tables.
 *
 * @throws StoreError `STORE_DAMAGED`
 */
export function requireSound(db: Database, file: string): void {
  const { size } = statSync(file);
  const pages = Number(db.pragma('page_count', { simple: true }));
  const pageBytes = Number(db.pragma('page_size', { simple: true }));
  const found = (what: string): readonly unknown[] =>
    (db.pragma(what) as readonly object[]).flatMap((row) => Object.values(row)).filter((line) => line !== 'ok');
  // Pages that are in the log alone are no part of the file yet.
  const isShort = size < pages * pageBytes && !existsSync(`${file}-wal`);
  const tables = ['accounts', 'usage_months', 'api_keys', 'users', 'members', 'notes'];
  const checks = size <= QUICK_BYTES ? ['quick_check(1)'] : tables.map((table) => `quick_check(${table})`);
  if (isShort || checks.some((check) => found(check).length > 0)) throw new StoreError('STORE_DAMAGED', DAMAGED);
}

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

/** Time for which a server that is just ending may hold the folder, milliseconds. */
const BUSY_TIMEOUT_MS = 3_000;

/**
 * Takes a data folder for one server, until the function returned is called or this process ends, however it ends: the
 * kernel drops the lock. Commands of `portcullis admin` don't ask for it.
 *
 * @throws StoreError `STORE_CONFLICT` where another server has it
 */
export function lockFolder(folder: string): () => void {
  const lock = new Sqlite(join(folder, 'serve.lock'), { timeout: BUSY_TIMEOUT_MS });
  try {
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!errorCode(error).startsWith('SQLITE_BUSY')) throw error;
    throw new StoreError(
      'STORE_CONFLICT',
      `another "portcullis serve" runs on ${folder}: an embedded database has one server; replicas share PostgreSQL (--database-url)`,
    );
  }
  return () => {
    if (lock.open) lock.close();
  };
}

const BYTES = 16 * 1024 * 1024;
/** Room beyond the ballast that must be free before it is put back. */
const SPARE = 16 * 1024 * 1024;
/** Time between two looks at the ballast, milliseconds: looking costs as much as a statement. */
const LOOK_MS = 1_000;

/** A file that is there only to be deleted: on a full disk SQLite can't even delete rows or shrink its log. */
export class Ballast {
  readonly #folder: string;
  readonly #file: string;
  #looked = Number.NEGATIVE_INFINITY;
  #hadRoom = true;

  constructor(folder: string) {
    this.#folder = folder;
    this.#file = join(folder, 'ballast');
    this.restore();
  }

  release(): void {
    rmSync(this.#file, { force: true });
    this.#hadRoom = false;
  }

  /** Whether the file is there or could be written. */
  hasRoom(): boolean {
    if (existsSync(this.#file)) return true;
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize >= BYTES + SPARE;
  }

  /** Puts the file back if it is missing and there is room; returns whether it is there. */
  restore(): boolean {
    if (existsSync(this.#file)) return true;
    if (!this.hasRoom()) return false;
    try {
      writeFileSync(this.#file, Buffer.alloc(BYTES), { mode: 0o600 });
      return true;
    } catch {
      // Something else took the room meanwhile, or a quota that `statfs` doesn't show is full.
      rmSync(this.#file, { force: true });
      return false;
    }
  }

  /** @throws StoreError `STORE_DISK_FULL` */
  requireRoom(): void {
    const at = performance.now();
    if (at - this.#looked > LOOK_MS) {
      this.#looked = at;
      this.#hadRoom = this.restore();
    }
    if (!this.#hadRoom) throw new StoreError('STORE_DISK_FULL', 'the disk is full: purge evidence or make room');
  }
}

/**
 * Everything that SQLite can verify, the search index too; one line for each fault. On a connection of its own: FTS5's check
 * trusts the structure that a connection read last, and calls what another one has written since a corruption.
 */
export function embeddedCheck(file: string, ballast: Ballast): readonly string[] {
  const db = connect(file, 5_000);
  try {
    return listProblems(db, ballast);
  } finally {
    db.close();
  }
}

function listProblems(db: Database, ballast: Ballast): readonly string[] {
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
  if (!ballast.hasRoom()) problems.push('the disk is full');
  return problems;
}
