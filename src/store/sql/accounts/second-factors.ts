import { sealed, tokenHash, unsealed } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { SecondFactorStore } from '../../user-store.js';
import type { Connection } from '../connection.js';

/** How a recovery code is compared: without the marks that readers put between its parts. */
const hashCode = (code: string): string => tokenHash(code.toLowerCase().replace(/[^a-z0-9]/g, ''));

/** Second factors in SQL. */
export function sqlSecondFactors({ db, now, pepper, transaction }: Connection): SecondFactorStore {
  const findRow = (userId: string) => db.selectFrom('second_factors').selectAll().where('user_id', '=', userId);
  return {
    async get(userId) {
      const row = await findRow(userId).executeTakeFirst();
      if (!row) return undefined;
      return {
        secret: unsealed(row.secret, pepper),
        confirmed: row.confirmed_at !== null,
        lastStep: row.last_step,
        recoveryLeft: (JSON.parse(row.recovery) as readonly string[]).length,
      };
    },
    async begin(userId, secret, recoveryCodes) {
      const values = {
        secret: sealed(secret, pepper),
        recovery: JSON.stringify(recoveryCodes.map(hashCode)),
        confirmed_at: null,
        last_step: 0,
      };
      const put = db.insertInto('second_factors').values({ user_id: userId, ...values });
      const made = await put
        .onConflict((conflict) =>
          conflict.column('user_id').doUpdateSet(values).where('second_factors.confirmed_at', 'is', null),
        )
        .returning('user_id')
        .executeTakeFirst();
      if (!made) throw new StoreError('STORE_CONFLICT', 'the user already has a second factor');
    },
    async takeStep(userId, step) {
      const newer = db.updateTable('second_factors').set({ last_step: step }).where('user_id', '=', userId);
      const row = await newer.where('last_step', '<', step).returning('confirmed_at').executeTakeFirst();
      if (row?.confirmed_at === null)
        await db.updateTable('second_factors').set({ confirmed_at: now() }).where('user_id', '=', userId).execute();
      return row !== undefined;
    },
    takeRecoveryCode: (userId, code) =>
      transaction(async (inside) => {
        // Locks the row: a code works once.
        const locked = inside.updateTable('second_factors').set({ user_id: userId }).where('user_id', '=', userId);
        const row = await locked.returning(['recovery', 'confirmed_at']).executeTakeFirst();
        const codes = row && row.confirmed_at !== null ? (JSON.parse(row.recovery) as readonly string[]) : [];
        const hash = hashCode(code);
        if (!codes.includes(hash)) return false;
        const recovery = JSON.stringify(codes.filter((it) => it !== hash));
        await inside.updateTable('second_factors').set({ recovery }).where('user_id', '=', userId).execute();
        return true;
      }),
    async remove(userId) {
      const gone = db.deleteFrom('second_factors').where('user_id', '=', userId).returning('user_id');
      return (await gone.executeTakeFirst()) !== undefined;
    },
  };
}
