import { attemptDigest, randomToken, sealed, tokenHash, unsealed } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { AttemptStore, DeviceStore, SecondFactorStore } from '../../user-store.js';
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

/** Hashes a recovery code without the marks that readers put between its parts. */
const hashCode = (code: string): string => tokenHash(code.toLowerCase().replace(/[^a-z0-9]/g, ''));

export const secondFactors: Queries<SecondFactorStore> = {
  async get({ db, pepper }, userId) {
    const row = await db.selectFrom('secondFactors').selectAll().where('userId', '=', userId).executeTakeFirst();
    if (!row) return undefined;
    const { length: recoveryLeft } = JSON.parse(row.recovery) as readonly string[];
    const { confirmedAt, lastStep } = row;
    return { secret: unsealed(row.secret, pepper), confirmed: confirmedAt !== null, lastStep, recoveryLeft };
  },
  async begin({ db, pepper }, userId, secret, recoveryCodes) {
    const recovery = JSON.stringify(recoveryCodes.map(hashCode));
    const values = { secret: sealed(secret, pepper), recovery, confirmedAt: null, lastStep: 0 };
    const put = db.insertInto('secondFactors').values({ userId, ...values });
    const made = put.onConflict((conflict) =>
      conflict.column('userId').doUpdateSet(values).where('secondFactors.confirmedAt', 'is', null),
    );
    if (!(await made.returning('userId').executeTakeFirst()))
      throw new StoreError('STORE_CONFLICT', 'the user already has a second factor');
  },
  async takeStep({ db, now }, userId, step) {
    const newer = db.updateTable('secondFactors').set({ lastStep: step }).where('userId', '=', userId);
    const row = await newer.where('lastStep', '<', step).returning('confirmedAt').executeTakeFirst();
    if (row?.confirmedAt === null)
      await db.updateTable('secondFactors').set({ confirmedAt: now() }).where('userId', '=', userId).execute();
    return row !== undefined;
  },
  takeRecoveryCode: ({ transaction }, userId, code) =>
    transaction(async (inside) => {
      // Locks the row: a code works once.
      const locked = inside.updateTable('secondFactors').set({ userId }).where('userId', '=', userId);
      const row = await locked.returning(['recovery', 'confirmedAt']).executeTakeFirst();
      const codes = row && row.confirmedAt !== null ? (JSON.parse(row.recovery) as readonly string[]) : [];
      const hash = hashCode(code);
      if (!codes.includes(hash)) return false;
      const recovery = JSON.stringify(codes.filter((it) => it !== hash));
      await inside.updateTable('secondFactors').set({ recovery }).where('userId', '=', userId).execute();
      return true;
    }),
  async remove({ db }, userId) {
    const gone = db.deleteFrom('secondFactors').where('userId', '=', userId).returning('userId');
    return (await gone.executeTakeFirst()) !== undefined;
  },
};
