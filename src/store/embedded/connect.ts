import { type FileHandle, open } from 'node:fs/promises';
import Sqlite, { type Database } from 'better-sqlite3';
import { foldText } from './fold-text.js';

/** A connection to an embedded database that waits so long where another one writes. */
export function connect(file: string, busyMs: number): Database {
  const db = new Sqlite(file, { timeout: busyMs });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
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
