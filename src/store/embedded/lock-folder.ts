import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { StoreError } from '../store-error.js';

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
