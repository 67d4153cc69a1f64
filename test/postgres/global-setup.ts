import type { TestProject } from 'vitest/node';
import { type PostgresServer, startPostgres } from './server.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of the server that all tests share; each takes a database of its own. Absent where no test asked for one. */
    readonly postgresUrl: string;
  }
}

/** Folders whose tests ask for a PostgreSQL. */
const USERS = /test\/(store|service|contract|security|dashboard|cli)/;

/** Starts one PostgreSQL for all tests, unless the folders asked for on the command line don't need it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.env.PORTCULLIS_TEST_POSTGRES === 'off') return async () => undefined;
  const asked = process.argv.slice(2).filter((it) => it.startsWith('test/'));
  if (asked.length > 0 && !asked.some((it) => USERS.test(it))) return async () => undefined;
  const server: PostgresServer = await startPostgres();
  project.provide('postgresUrl', server.url);
  return () => server.remove();
}
