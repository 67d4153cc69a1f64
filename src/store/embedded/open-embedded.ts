import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { CamelCasePlugin, Kysely, SqliteDialect, sql } from 'kysely';
import { childProgram } from '../../adapters/worker.js';
import { loadPlans } from '../plans.js';
import { newPepper, settledPepper } from '../secrets.js';
import { requirePlansInUse } from '../sql/accounts/accounts.js';
import { type Connection, sqlNotes, withoutLimit } from '../sql/connection.js';
import { toRow } from '../sql/evidence/evidence-row.js';
import { updateOldRecords } from '../sql/evidence/old-records.js';
import { migrate } from '../sql/migrate.js';
import { type DatabaseOwn, sqlStore } from '../sql/sql-store.js';
import type { Tables } from '../sql/tables.js';
import type { Store, StoreOptions } from '../store.js';
import { DAMAGED, isDamage, StoreError } from '../store-error.js';
import { Ballast, connect, embeddedCheck, lockFolder, prepareFolder, requireSound } from './database-file.js';
import { embeddedPage } from './evidence-page.js';
import { openWriter, type Writer } from './writer.js';
import { openWriterThread } from './writer-thread.js';

/** Versions below it can lose writes when a log is reset while another process reads. @see https://sqlite.org/wal.html */
const OLDEST_SQLITE = [3, 51, 3] as const;

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

/**
 * Takes a data folder for one server of several processes, which open it with `isHeld`; until the function returned is
 * called, or this process ends. @throws StoreError `STORE_CONFLICT` where another server has it
 */
export function holdFolder(folder: string): () => void {
  prepareFolder(folder);
  return lockFolder(folder);
}

/** Opens the embedded database of a data folder. @throws StoreError */
export async function openEmbedded(folder: string, options: StoreOptions): Promise<Store> {
  prepareFolder(folder);
  // Before SQLite makes any of its files.
  const release = options.serves && !options.isHeld ? lockFolder(folder) : () => undefined;
  try {
    return await openFolder(folder, options, release);
  } catch (error) {
    release();
    throw isDamage(error) || (error instanceof StoreError && isDamage(error.cause))
      ? new StoreError('STORE_DAMAGED', DAMAGED, { cause: error })
      : error;
  }
}

async function openFolder(folder: string, options: StoreOptions, release: () => void): Promise<Store> {
  const ownPlans = join(folder, 'plans.yaml');
  const plans = loadPlans(options.plansFile ?? (existsSync(ownPlans) ? ownPlans : undefined));
  const file = join(folder, 'portcullis.db');
  const reader = connect(file, 5_000);
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: reader }),
    plugins: [new CamelCasePlugin()],
  });
  try {
    requireRecent(reader);
    requireSound(reader, file);
    await migrate(db, 'sqlite');
    if (options.serves) await requirePlansInUse({ db, plans });
    const pepper = await settledPepper(sqlNotes({ db }), options.pepper, async () => pepperFile(folder));
    const ballast = new Ballast(folder);
    const parts = { file, plans, onFull: () => ballast.release() };
    const program = options.writerProgram ?? (options.serves ? childProgram('store-writer') : undefined);
    const writer = await (program === undefined ? openWriter(parts) : openWriterThread({ ...parts, program }));
    const connection: Connection = {
      ...{ db, dialect: 'sqlite', plans, pepper },
      now: options.now ?? Date.now,
      longWork: options.longWork ?? withoutLimit,
      transaction: (work) => writer.alone(() => inTransaction(db, reader, work)),
    };
    await updateOldRecords(connection, () =>
      writer.alone(async () => {
        reader.exec('VACUUM');
        reader.pragma('wal_checkpoint(TRUNCATE)');
      }),
    );
    return sqlStore(connection, embeddedOwn(connection, { reader, writer, ballast, release }));
  } catch (error) {
    if (reader.open) reader.close();
    throw error;
  }
}

/** @throws StoreError STORE_SETTINGS */
function requireRecent(reader: Database): void {
  const version = String(reader.prepare('SELECT sqlite_version()').pluck().get());
  const parts = version.split('.').map(Number);
  const at = OLDEST_SQLITE.findIndex((least, i) => parts[i] !== least);
  if (at >= 0 && (parts[at] ?? 0) < (OLDEST_SQLITE[at] ?? 0))
    throw new StoreError('STORE_SETTINGS', `SQLite ${version} is too old; ${OLDEST_SQLITE.join('.')} is needed`);
}

function inTransaction<T>(
  db: Kysely<Tables>,
  reader: Database,
  work: (inside: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  return db.connection().execute(async (inside) => {
    await sql`BEGIN IMMEDIATE`.execute(inside);
    try {
      const result = await work(inside);
      await sql`COMMIT`.execute(inside);
      return result;
    } catch (error) {
      if (reader.inTransaction) await sql`ROLLBACK`.execute(inside);
      throw error;
    }
  });
}

interface Opened {
  readonly reader: Database;
  readonly writer: Writer;
  readonly ballast: Ballast;
  /** Gives the folder back. */
  readonly release: () => void;
}

function embeddedOwn(connection: Connection, { reader, writer, ballast, release }: Opened): DatabaseOwn {
  const { db, pepper } = connection;
  let isDamaged = false;
  /** Readiness reports a failed write: the file doesn't recover on its own. */
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    ballast.requireRoom();
    try {
      return await work();
    } catch (error) {
      isDamaged ||= isDamage(error);
      throw error;
    }
  };
  return {
    charge: (accountId, at) => write(() => writer.charge(accountId, at)),
    append: (record) => write(() => writer.append(toRow(record, pepper))),
    appendCounted: (record, at) => write(() => writer.appendCounted(toRow(record, pepper), at)),
    page: embeddedPage(connection),
    deleteBefore: writer.deleteBefore,
    purged: writer.emptyLog,
    async ready() {
      reader.prepare('SELECT 1').get();
      const damage = isDamaged ? [DAMAGED] : [];
      return [...writer.problems(), ...damage, ...(ballast.hasRoom() ? [] : ['the disk is full'])];
    },
    check: async () => embeddedCheck(reader.name, ballast),
    async close() {
      try {
        await writer.close();
      } finally {
        await db.destroy();
        release();
      }
    },
  };
}
