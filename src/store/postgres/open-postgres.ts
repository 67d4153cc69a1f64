import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { errorCode } from '../../engine/errors.js';
import type { Charge } from '../account-store.js';
import { GroupCommit } from '../group-commit.js';
import { loadPlans } from '../plans.js';
import { newPepper, settledPepper } from '../secrets.js';
import { requirePlansInUse } from '../sql/accounts/accounts.js';
import { type Connection, sqlNotes, withoutLimit } from '../sql/connection.js';
import { updateOldRecords } from '../sql/evidence/old-records.js';
import { migrate } from '../sql/migrate.js';
import { sqlStore } from '../sql/sql-store.js';
import type { Tables } from '../sql/tables.js';
import type { Store, StoreOptions } from '../store.js';
import { StoreError } from '../store-error.js';
import { type Appended, type AppendItem, postgresAppend } from './append.js';
import { type ChargeItem, postgresCharge } from './charge.js';
import { postgresPage } from './evidence-page.js';

const BIGINT = 20;
const CONNECT_MS = 3_000;
const STATEMENT_MS = 15_000;
const CONNECTIONS = 10;

/** PostgreSQL's bigint as a number: every figure of ours is far below 2^53, and one that isn't must not pass in silence. */
const wholeNumber = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('a bigint beyond 2^53');
  return value;
};

const openPool = (url: string): pg.Pool => {
  const types = {
    getTypeParser: (id: number, format?: 'text' | 'binary') =>
      id === BIGINT ? wholeNumber : pg.types.getTypeParser(id, format ?? 'text'),
  };
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'portcullis',
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    // A server that is gone without a word never ends a statement by itself.
    query_timeout: STATEMENT_MS + 1_000,
    keepAlive: true,
    types: types as pg.CustomTypesConfig,
  });
  // An idle connection broke; the next caller gets a new one.
  pool.on('error', () => undefined);
  // A client in use has no listener of the pool's: without one, a connection lost inside a transaction ends the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
};

/** The name of an address without its password. */
const shownUrl = (url: string): string => {
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`;
  } catch {
    return 'the address given';
  }
};

async function requireReachable(pool: pg.Pool, url: string): Promise<void> {
  try {
    await pool.query('SELECT 1');
  } catch (error) {
    const code = errorCode(error);
    const why = code === '' ? '' : ` (${code})`;
    throw new StoreError('STORE_UNAVAILABLE', `PostgreSQL at ${shownUrl(url)} can't be reached${why}`, {
      cause: error,
    });
  }
}

/** Opens a PostgreSQL database and brings its schema up to date. @throws StoreError */
export async function openPostgres(url: string, options: StoreOptions): Promise<Store> {
  const plans = loadPlans(options.plansFile);
  const pool = openPool(url);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] });
  try {
    await requireReachable(pool, url);
    await migrate(db, 'postgres');
    if (options.serves) await requirePlansInUse({ db, plans });
    const notes = sqlNotes({ db });
    // Replicas share it; an operator who wants it apart from the hashes sets it in the environment.
    const pepper = await settledPepper(notes, options.pepper, () => notes.claim('pepper', newPepper()));
    const charges = new GroupCommit<ChargeItem, Charge>(postgresCharge(pool, plans), { lanes: 2, mostInOne: 512 });
    const appends = new GroupCommit<AppendItem, Appended>(postgresAppend(pool, pepper, plans), {
      lanes: 3,
      mostInOne: 256,
    });
    const connection: Connection = {
      ...{ db, dialect: 'postgres', plans, pepper },
      now: options.now ?? Date.now,
      longWork: options.longWork ?? withoutLimit,
      transaction: (work) => db.transaction().execute(work),
    };
    const alive = async (): Promise<readonly string[]> => {
      await pool.query({ name: 'portcullis-ready', text: 'SELECT 1' });
      return [];
    };
    await updateOldRecords(connection, async () => undefined);
    return sqlStore(connection, {
      charge: (accountId, at) => charges.add({ accountId, at }),
      append: async (record) => void (await appends.add({ record, at: null })),
      appendCounted: async (record, at) => (await appends.add({ record, at })) as Charge,
      ...postgresPage(connection),
      purged: async () => undefined,
      ready: alive,
      check: alive,
      async close() {
        await Promise.all([charges.close(), appends.close()]);
        await db.destroy();
      },
    });
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
