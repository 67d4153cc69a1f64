import type { Kysely } from 'kysely';
import type { Plans } from '../plans.js';
import type { LongWork, NoteStore } from '../store.js';
import type { EvidenceTables, Tables } from './tables.js';

/** The connection that code shared by both databases needs. */
export interface Connection {
  readonly db: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  readonly plans: Plans;
  /** Secret that keys and digests of texts are made with. */
  readonly pepper: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly longWork: LongWork;
  /** All of it or nothing. Inside, only the handed-in database may be asked. */
  transaction<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
}

/** The methods of a part of the store, each with the connection before its arguments. */
export type Queries<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...args: infer Args) => infer Result
    ? (connection: Connection, ...args: Args) => Result
    : never;
};

/** The tables of evidence. Their rows keep the names of their columns: they go to statements of each database, too. */
export function evidenceDb(db: Kysely<Tables>): Kysely<EvidenceTables> {
  return db.withoutPlugins() as unknown as Kysely<EvidenceTables>;
}

/** Each step at once. */
export const withoutLimit: LongWork = async (_accountId, _size, step) => step();

export function sqlNotes({ db }: Pick<Connection, 'db'>): NoteStore {
  const get = async (name: string): Promise<string | undefined> =>
    (await db.selectFrom('notes').select('value').where('name', '=', name).executeTakeFirst())?.value;
  return {
    get,
    async set(name, value) {
      const put = db.insertInto('notes').values({ name, value });
      await put.onConflict((conflict) => conflict.column('name').doUpdateSet({ value })).execute();
    },
    async claim(name, value) {
      const put = db.insertInto('notes').values({ name, value });
      await put.onConflict((conflict) => conflict.doNothing()).execute();
      return (await get(name)) ?? value;
    },
  };
}
