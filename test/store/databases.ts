import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/store/open-store.js';
import type { Store, StoreOptions } from '../../src/store/store.js';
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

const writer = fileURLToPath(new URL('../../dist/store-writer.js', import.meta.url));

const embedded = async (writerProgram: string | undefined): Promise<TestDatabase> => {
  const data = mkdtempSync(join(tmpdir(), 'portcullis-store-'));
  return {
    open: (options) => openStore({ writerProgram, ...options, data }),
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

interface NamedDatabase {
  readonly name: string;
  readonly make: () => Promise<TestDatabase>;
}

/** Both databases, as the service has them: the embedded one is written by a thread. `npm run test:quick` has that one alone. */
export const databases: readonly NamedDatabase[] = [
  { name: 'embedded', make: () => embedded(writer) },
  ...(process.env.PORTCULLIS_TEST_POSTGRES === 'off' ? [] : [{ name: 'postgres', make: postgres }]),
];

/** And as `portcullis admin` has the embedded one: every test of the port runs on each. */
export const allDatabases: readonly NamedDatabase[] = [
  ...databases,
  { name: 'embedded, written by its own thread', make: () => embedded(undefined) },
];
