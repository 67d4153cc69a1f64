import { attemptDigest, randomToken, tokenHash } from '../../secrets.js';
import type { AttemptStore, DeviceStore } from '../../user-store.js';
import type { Connection } from '../connection.js';

const DAY_MS = 86_400_000;

/** Attempts at passwords in SQL. */
export function sqlAttempts({ db, now, pepper, transaction }: Connection): AttemptStore {
  return {
    begin: (given, delayOf) =>
      transaction(async (inside) => {
        const name = attemptDigest(given, pepper);
        // The row is locked by this write before it is read: two attempts at once are counted one after the other.
        const { failures, last_at, free_at } = await inside
          .insertInto('attempts')
          .values({ name, failures: 0, last_at: 0, free_at: 0 })
          .onConflict((conflict) => conflict.column('name').doUpdateSet({ name }))
          .returningAll()
          .executeTakeFirstOrThrow();
        const at = now();
        if (free_at > at) return free_at - at;
        const counted = (at - last_at > DAY_MS ? 0 : failures) + 1;
        const values = { failures: counted, last_at: at, free_at: at + delayOf(counted) };
        await inside.updateTable('attempts').set(values).where('name', '=', name).execute();
        return 0;
      }),
    takeBack: (given) =>
      transaction(async (inside) => {
        const own = inside.updateTable('attempts').where('name', '=', attemptDigest(given, pepper));
        await own
          .set((row) => ({ failures: row('failures', '-', 1), free_at: 0 }))
          .where('failures', '>', 0)
          .execute();
      }),
    async forget(given) {
      const gone = db.deleteFrom('attempts').where('name', '=', attemptDigest(given, pepper));
      return (await gone.returning('failures').execute()).some(({ failures }) => failures > 0);
    },
  };
}

/** Devices in SQL. */
export function sqlDevices({ db, now }: Connection): DeviceStore {
  return {
    async create(userId) {
      const token = randomToken();
      const row = { token_hash: tokenHash(token), user_id: userId, created_at: now(), used_at: now() };
      await db.insertInto('devices').values(row).execute();
      return token;
    },
    async find(token) {
      const own = db.updateTable('devices').set({ used_at: now() }).where('token_hash', '=', tokenHash(token));
      return (await own.returning('user_id').executeTakeFirst())?.user_id;
    },
  };
}
