import type { NoteStore } from '../store.js';
import type { Connection } from './connection.js';

/** Notes in SQL. */
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
