import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { StoreError } from '../store-error.js';
import {
  chargeFunction,
  commonTables,
  embeddedTables,
  plainSearch,
  postgresTables,
  searchMark,
  searchStretches,
  versionTables,
} from './schema.js';
import type { Tables } from './tables.js';

const running = (statements: readonly string[]): Migration => ({
  async up(db) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
});

/** One story for both databases: the same names in the same order, never changed once released. */
const migrations = (dialect: 'sqlite' | 'postgres'): Readonly<Record<string, Migration>> => ({
  '2026-11-21-initial': running(
    dialect === 'sqlite' ? [...commonTables, ...embeddedTables] : [...commonTables, ...postgresTables, chargeFunction],
  ),
  '2026-11-21-versions-and-latencies': running(versionTables),
  '2026-11-22-search-mark': running(dialect === 'sqlite' ? searchMark : []),
  '2026-11-22-search-stretches': running(dialect === 'sqlite' ? searchStretches : []),
  '2026-11-23-plain-search': running(dialect === 'sqlite' ? plainSearch : []),
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
