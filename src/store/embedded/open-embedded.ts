import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { Kysely, SqliteDialect, sql } from 'kysely';
import type { StoreOptions } from '../open-store.js';
import { loadPlans } from '../plans.js';
import { migrate } from '../sql/migrate.js';
import { sqlNotes } from '../sql/notes.js';
import { newPepper, settledPepper } from '../sql/pepper.js';
import { requirePlansInUse } from '../sql/plans-in-use.js';
import { sqlStore } from '../sql/sql-store.js';
import type { Tables } from '../sql/tables.js';
import type { Store } from '../store.js';
import { StoreError } from '../store-error.js';
import { addedCounts } from './added-counts.js';
import { embeddedAppend } from './append.js';
import { openBallast } from './ballast.js';
import { embeddedCharge } from './charge.js';
import { embeddedCheck } from './check.js';
import { embeddedDelete } from './delete.js';
import { embeddedPage } from './evidence-page.js';
import { foldText } from './fold-text.js';
import { openGroupCommit } from './group-commit.js';
import { lockFolder } from './lock-folder.js';
import { openSearchIndex } from './search-index.js';
import { openSearchMark } from './search-mark.js';

/** Versions below it can lose writes when a log is reset while another process reads. @see https://sqlite.org/wal.html */
const oldestSqlite = [3, 51, 3] as const;
const restoreMs = 1_000;

const tooOld = (version: string): boolean => {
  const parts = version.split('.').map(Number);
  const at = oldestSqlite.findIndex((least, i) => parts[i] !== least);
  return at >= 0 && (parts[at] ?? 0) < (oldestSqlite[at] ?? 0);
};

const connect = (file: string, busyMs: number): Database => {
  const db = new Sqlite(file, { timeout: busyMs });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.pragma('cache_size = -65536');
  db.function('text_contains', { deterministic: true }, (text, part) =>
    typeof text === 'string' && foldText(text).includes(String(part)) ? 1 : 0,
  );
  return db;
};

/**
 * The write-ahead log of a connection whose commits needn't sync it: a sync of our own is the same as SQLite's, and runs
 * while this thread works on. SQLite still syncs when it moves the log into the database. @see https://sqlite.org/wal.html
 */
const openLog = async (db: Database, file: string): Promise<FileHandle> => {
  db.pragma('synchronous = NORMAL');
  // The log is made by the first one who reads.
  db.prepare('SELECT name FROM notes LIMIT 1').get();
  return open(`${file}-wal`, 'r+');
};

const pepperFile = (folder: string): string => {
  const file = join(folder, 'key-pepper');
  // Two first starts at once: the file of the one that was first holds.
  if (!existsSync(file)) {
    try {
      writeFileSync(file, `${newPepper()}\n`, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if (!existsSync(file)) throw error;
    }
  }
  return readFileSync(file, 'utf8').trim();
};

const prepareFolder = (folder: string): void => {
  try {
    if (existsSync(folder)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch (error) {
    throw new StoreError('STORE_SETTINGS', `the data folder ${folder} can't be made`, { cause: error });
  }
};

/** Opens the embedded database of a data folder. @throws StoreError */
export async function openEmbedded(folder: string, options: StoreOptions): Promise<Store> {
  prepareFolder(folder);
  const release = options.serves ? lockFolder(folder) : () => undefined;
  try {
    return await openFolder(folder, options, release);
  } catch (error) {
    release();
    throw error;
  }
}

async function openFolder(folder: string, options: StoreOptions, release: () => void): Promise<Store> {
  const ownPlans = join(folder, 'plans.yaml');
  const plans = loadPlans(options.plansFile ?? (existsSync(ownPlans) ? ownPlans : undefined));
  const file = join(folder, 'portcullis.db');
  const reader = connect(file, 5_000);
  const version = String(reader.prepare('SELECT sqlite_version()').pluck().get());
  if (tooOld(version)) {
    reader.close();
    throw new StoreError('STORE_SETTINGS', `SQLite ${version} is too old; ${oldestSqlite.join('.')} is needed`);
  }
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: reader }) });
  try {
    await migrate(db, 'sqlite');
    if (options.serves) await requirePlansInUse({ db, plans });
    const pepper = await settledPepper(sqlNotes({ db }), options.pepper, async () => pepperFile(folder));
    // Waiting for another process's commit must not stop this one: the group commit tries again instead.
    const writer = connect(file, 0);
    const log = await openLog(writer, file);
    const ballast = openBallast(folder, join(folder, 'ballast'));
    const charges = embeddedCharge(writer, plans);
    const counts = addedCounts(writer);
    const mark = openSearchMark(writer);
    /** When the ballast was last seen, or its return tried: looking costs as much as a statement. */
    let looked = Number.NEGATIVE_INFINITY;
    let hasRoom = true;
    const room = (): void => {
      const at = performance.now();
      if (at - looked > restoreMs) {
        looked = at;
        hasRoom = ballast.there || ballast.restore();
      }
      if (!hasRoom) throw new StoreError('STORE_DISK_FULL', 'the disk is full: purge evidence or make room');
    };
    const commits = openGroupCommit(writer, {
      sync: () => log.datasync(),
      onFull() {
        ballast.release();
        hasRoom = false;
      },
      tallies: [charges, counts, mark],
    });
    const search = openSearchIndex(writer, commits, mark);
    const append = embeddedAppend(writer, counts, mark);
    const connection = {
      db,
      dialect: 'sqlite' as const,
      plans,
      now: options.now ?? Date.now,
      transaction: <T>(work: (inside: Kysely<Tables>) => Promise<T>): Promise<T> =>
        commits.alone(() =>
          db.connection().execute(async (inside) => {
            await sql`BEGIN IMMEDIATE`.execute(inside);
            try {
              const result = await work(inside);
              await sql`COMMIT`.execute(inside);
              return result;
            } catch (error) {
              if (reader.inTransaction) await sql`ROLLBACK`.execute(inside);
              throw error;
            }
          }),
        ),
    };
    return sqlStore(connection, {
      pepper,
      async charge(accountId, at) {
        room();
        return commits.runAhead(() => charges.charge(accountId, at));
      },
      async append(record) {
        room();
        return commits.run(append(record));
      },
      page: embeddedPage(connection),
      deleteBefore: embeddedDelete(writer, commits, mark),
      async ready() {
        writer.prepare('SELECT 1').get();
        return ballast.there || ballast.restore() ? [] : ['the disk is full'];
      },
      check: async () => embeddedCheck(reader, ballast),
      async close() {
        search.close();
        await commits.close();
        await log.close();
        writer.close();
        await db.destroy();
        release();
      },
    });
  } catch (error) {
    if (reader.open) reader.close();
    throw error;
  }
}
