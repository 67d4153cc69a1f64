import { errorCode } from '../engine/errors.js';
import type { Store, StoreOptions } from './store.js';
import { StoreError } from './store-error.js';

/** The optional package that couldn't be loaded, with what to type. */
const packageMissing = (error: unknown, packages: string): unknown => {
  const code = errorCode(error);
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'ERR_DLOPEN_FAILED') return error;
  return new StoreError('STORE_PACKAGE_MISSING', `the database needs packages: npm install ${packages}`, {
    cause: error,
  });
};

/** Takes a data folder for a server of several processes: see `StoreOptions.isHeld`. @throws StoreError */
export async function holdFolder(data: string): Promise<() => void> {
  try {
    return (await import('./embedded/open-embedded.js')).holdFolder(data);
  } catch (error) {
    throw packageMissing(error, 'better-sqlite3@12.11.1 kysely@0.28.18');
  }
}

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
