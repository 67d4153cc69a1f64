import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { StoreError } from '../store-error.js';
import {
  CHANNEL_INDEX,
  CHARGE_FUNCTION,
  COMMON_TABLES,
  DESK_TABLES,
  embeddedTables,
  invitedUsers,
  postgresTables,
  RUN_INDEX,
  RUN_TABLES,
  SEARCH_INDEX,
  SEARCH_MARK,
  SIGN_IN_TABLES,
  TASK_INDEX,
  TRIAL_COUNT,
  VERSION_TABLES,
} from './schema.js';
import type { Tables } from './tables.js';

const running = (statements: readonly string[]): Migration => ({
  async up(db) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
});

/** SQLite: statements that rebuild a table, in one transaction, without checking the references to it. */
const rebuilding = (statements: readonly string[]): Migration => ({
  async up(db) {
    await sql`PRAGMA foreign_keys = OFF`.execute(db);
    try {
      await sql`BEGIN IMMEDIATE`.execute(db);
      try {
        for (const statement of statements) await sql.raw(statement).execute(db);
        await sql`COMMIT`.execute(db);
      } catch (error) {
        await sql`ROLLBACK`.execute(db);
        throw error;
      }
    } finally {
      await sql`PRAGMA foreign_keys = ON`.execute(db);
    }
  },
});

/** Adds a column unless it is there. SQLite has no `IF NOT EXISTS` for it. */
async function addColumn(
  db: Kysely<unknown>,
  dialect: 'sqlite' | 'postgres',
  table: string,
  column: string,
): Promise<void> {
  const name = column.split(' ')[0];
  if (dialect === 'sqlite') {
    const there = await sql`SELECT 1 FROM pragma_table_info(${table}) WHERE name = ${name}`.execute(db);
    if (there.rows.length > 0) return;
  }
  const unless = dialect === 'sqlite' ? '' : 'IF NOT EXISTS ';
  await sql.raw(`ALTER TABLE ${table} ADD COLUMN ${unless}${column}`).execute(db);
}

/**
 * The migrations of a database, by name and in order. Both databases have the same names, which never change once released. A
 * migration that a later one replaces entirely is empty.
 */
const migrations = (dialect: 'sqlite' | 'postgres'): Readonly<Record<string, Migration>> => ({
  '2026-11-21-initial': running(
    dialect === 'sqlite' ? [...COMMON_TABLES, ...embeddedTables] : [...COMMON_TABLES, ...postgresTables],
  ),
  '2026-11-21-versions-and-latencies': running(VERSION_TABLES),
  '2026-11-22-search-mark': running(dialect === 'sqlite' ? SEARCH_MARK : []),
  '2026-11-22-search-stretches': running([]),
  '2026-11-23-attempts': running(SIGN_IN_TABLES),
  '2026-11-23-invited-users': dialect === 'sqlite' ? rebuilding(invitedUsers.sqlite) : running(invitedUsers.postgres),
  '2026-11-23-one-trial': {
    async up(db) {
      await addColumn(db, dialect, 'accounts', 'trial_used BIGINT NOT NULL DEFAULT 0');
      if (dialect === 'postgres') await sql.raw(CHARGE_FUNCTION).execute(db);
      await sql.raw(TRIAL_COUNT).execute(db);
    },
  },
  '2026-11-23-plain-search': running(dialect === 'sqlite' ? SEARCH_INDEX : []),
  '2026-11-24-desk': running(DESK_TABLES),
  '2026-11-24-evidence-channel': {
    async up(db) {
      await addColumn(db, dialect, 'evidence', 'channel TEXT');
      await sql.raw(CHANNEL_INDEX).execute(db);
    },
  },
  '2026-11-24-runs': {
    async up(db) {
      await addColumn(db, dialect, 'evidence', 'run TEXT');
      for (const statement of [...RUN_TABLES, RUN_INDEX]) await sql.raw(statement).execute(db);
    },
  },
  '2026-11-29-evidence-task': running([TASK_INDEX]),
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Brings the schema up to date. PostgreSQL locks out others meanwhile. SQLite doesn't, so there every statement may run
 * twice, and the loser of a race tries again.
 *
 * @throws StoreError
 */
export async function migrate(db: Kysely<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const provider = { getMigrations: async () => ({ ...migrations(dialect) }) };
  const attempts = dialect === 'sqlite' ? 20 : 1;
  for (let attempt = 1; ; attempt += 1) {
    const { error } = await new Migrator({ db, provider }).migrateToLatest();
    if (error === undefined) return;
    if (attempt >= attempts) {
      const why = error instanceof Error ? error.message : 'unknown error';
      throw new StoreError('STORE_UNAVAILABLE', `the database schema can't be brought up to date: ${why}`, {
        cause: error,
      });
    }
    await pause(50 * attempt);
  }
}
