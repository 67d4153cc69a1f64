import type { Kysely } from 'kysely';
import type { Plans } from '../plans.js';
import type { Tables } from './tables.js';

/** What the parts written once for both databases need. */
export interface Connection {
  readonly db: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  readonly plans: Plans;
  /** Secret that keys and digests of texts are made with. */
  readonly pepper: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** All of it or nothing. Inside, only the handed-in database may be asked. */
  transaction<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
}
