import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, type StoreOptions } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { freshDatabase } from '../postgres/fresh-database.js';

/** An empty database for one test file. */
export interface TestDatabase {
  /** Opens it, once more too: as another process would. */
  open(options?: Omit<StoreOptions, 'data' | 'databaseUrl'>): Promise<Store>;
  /** For the command line and for other processes. */
  readonly flags: readonly string[];
  readonly place: Pick<StoreOptions, 'data' | 'databaseUrl'>;
  remove(): Promise<void>;
}

const embedded = async (): Promise<TestDatabase> => {
  const data = mkdtempSync(join(tmpdir(), 'portcullis-store-'));
  return {
    open: (options) => openStore({ ...options, data }),
    flags: ['--data', data],
    place: { data },
    remove: async () => rmSync(data, { recursive: true, force: true }),
  };
};

const postgres = async (): Promise<TestDatabase> => {
  const { url, drop } = await freshDatabase();
  return {
    open: (options) => openStore({ ...options, databaseUrl: url }),
    flags: ['--database-url', url],
    place: { databaseUrl: url },
    remove: drop,
  };
};

/** Both databases: every test of the port runs on each. */
export const databases: readonly { readonly name: string; readonly make: () => Promise<TestDatabase> }[] = [
  { name: 'embedded', make: embedded },
  { name: 'postgres', make: postgres },
];
