import type { Store } from './store.js';
import { StoreError } from './store-error.js';

/** Where the store is, and what it goes by. Exactly one of `data` and `databaseUrl` chooses the database. */
export interface StoreOptions {
  /** Folder of the embedded database; made where it is missing. */
  readonly data?: string | undefined;
  /** `postgres://user@host:port/database` */
  readonly databaseUrl?: string | undefined;
  /** YAML or JSON. Default: `plans.yaml` in the data folder if there is one, else the plans of the product. */
  readonly plansFile?: string | undefined;
  /** Secret that API keys are hashed with, 32 characters or more. Default: one made at the first start and kept. */
  readonly pepper?: string | undefined;
  /** Refuses a data folder that another process has opened so: for servers. Replicas share PostgreSQL instead. */
  readonly serves?: boolean | undefined;
  /** Program of the thread that writes the embedded database. Default: this package's for servers; otherwise no thread. */
  readonly writerProgram?: string | undefined;
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
}

/** The optional package that couldn't be loaded, with what to type. */
const packageMissing = (error: unknown, packages: string): unknown => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'ERR_DLOPEN_FAILED') return error;
  return new StoreError('STORE_PACKAGE_MISSING', `the database needs packages: npm install ${packages}`, {
    cause: error,
  });
};

/** Opens the store and brings its schema up to date. @throws StoreError */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { data, databaseUrl } = options;
  if ((data === undefined) === (databaseUrl === undefined))
    throw new StoreError('STORE_SETTINGS', 'give either a data folder or the address of a database');
  try {
    if (data !== undefined) return await (await import('./embedded/open-embedded.js')).openEmbedded(data, options);
    const { openPostgres } = await import('./postgres/open-postgres.js');
    return await openPostgres(databaseUrl ?? '', options);
  } catch (error) {
    throw packageMissing(error, `${data === undefined ? 'pg@8' : 'better-sqlite3@12.11.1'} kysely@0.28.18`);
  }
}
