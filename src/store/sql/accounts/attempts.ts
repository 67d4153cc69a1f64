import { attemptDigest, randomToken, tokenHash } from '../../secrets.js';
import type { AttemptStore, DeviceStore } from '../../user-store.js';
import type { Queries } from '../connection.js';

const DAY_MS = 86_400_000;

export const attempts: Queries<AttemptStore> = {
  begin: ({ now, pepper, transaction }, given, delayOf) =>
    transaction(async (inside) => {
      const name = attemptDigest(given, pepper);
      // The row is locked by this write before it is read: two attempts at once are counted one after the other.
      const { failures, lastAt, freeAt } = await inside
        .insertInto('attempts')
        .values({ name, failures: 0, lastAt: 0, freeAt: 0 })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ name }))
        .returningAll()
        .executeTakeFirstOrThrow();
      const at = now();
      if (freeAt > at) return freeAt - at;
      const counted = (at - lastAt > DAY_MS ? 0 : failures) + 1;
      const values = { failures: counted, lastAt: at, freeAt: at + delayOf(counted) };
      await inside.updateTable('attempts').set(values).where('name', '=', name).execute();
      return 0;
    }),
  takeBack: ({ pepper, transaction }, given) =>
    transaction(async (inside) => {
      const own = inside.updateTable('attempts').where('name', '=', attemptDigest(given, pepper));
      await own
        .set((row) => ({ failures: row('failures', '-', 1), freeAt: 0 }))
        .where('failures', '>', 0)
        .execute();
    }),
  async forget({ db, pepper }, given) {
    const gone = db.deleteFrom('attempts').where('name', '=', attemptDigest(given, pepper));
    return (await gone.returning('failures').execute()).some(({ failures }) => failures > 0);
  },
};

export const devices: Queries<DeviceStore> = {
  async create({ db, now }, userId) {
    const token = randomToken();
    const device = { tokenHash: tokenHash(token), userId, createdAt: now(), usedAt: now() };
    await db.insertInto('devices').values(device).execute();
    return token;
  },
  async find({ db, now }, token) {
    const own = db.updateTable('devices').set({ usedAt: now() }).where('tokenHash', '=', tokenHash(token));
    return (await own.returning('userId').executeTakeFirst())?.userId;
  },
};
