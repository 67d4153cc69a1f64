import { randomToken, tokenHash } from '../random-id.js';
import type { SessionStore } from '../user-store.js';
import type { Connection } from './connection.js';

/** Sessions in SQL. */
export function sqlSessions({ db, now }: Connection): SessionStore {
  return {
    async create(userId, accountId, expiresAt) {
      const token = randomToken();
      await db
        .insertInto('sessions')
        .values({
          token_hash: tokenHash(token),
          user_id: userId,
          account_id: accountId,
          created_at: now(),
          expires_at: expiresAt,
        })
        .execute();
      return token;
    },
    async find(token) {
      const row = await db
        .selectFrom('sessions')
        .selectAll()
        .where('token_hash', '=', tokenHash(token))
        .where('expires_at', '>', now())
        .executeTakeFirst();
      if (!row) return undefined;
      return { userId: row.user_id, accountId: row.account_id, createdAt: row.created_at, expiresAt: row.expires_at };
    },
    async switchAccount(token, accountId) {
      const own = db.updateTable('sessions').set({ account_id: accountId }).where('token_hash', '=', tokenHash(token));
      await own.execute();
    },
    async end(token) {
      await db.deleteFrom('sessions').where('token_hash', '=', tokenHash(token)).execute();
    },
    async endAll(userId) {
      await db.deleteFrom('sessions').where('user_id', '=', userId).execute();
    },
  };
}
