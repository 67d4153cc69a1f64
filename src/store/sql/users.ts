import { randomId } from '../random-id.js';
import { StoreError } from '../store-error.js';
import type { Member, Role, User, UserStore } from '../user-store.js';
import type { Connection } from './connection.js';
import { sqlInvitations } from './invitations.js';
import type { Tables } from './tables.js';

const userOf = (row: Tables['users']): User => ({
  id: row.id,
  email: row.email,
  passwordHash: row.password_hash,
  createdAt: row.created_at,
});

/** One spelling of an e-mail address. */
const spelled = (email: string): string => email.trim().toLowerCase();

/** Users and members in SQL. */
export function sqlUsers(connection: Connection): UserStore {
  const { db, now, transaction } = connection;

  const memberships = (by: 'members.account_id' | 'members.user_id', id: string) =>
    db
      .selectFrom('members')
      .innerJoin('users', 'users.id', 'members.user_id')
      .innerJoin('accounts', 'accounts.id', 'members.account_id')
      .select(['members.account_id as accountId', 'members.user_id as userId', 'users.email as email'])
      .select('members.role as role')
      .where(by, '=', id)
      .orderBy('users.email')
      .orderBy('accounts.number');

  const setMember = async (accountId: string, userId: string, role: Role): Promise<void> => {
    await db
      .insertInto('members')
      .values({ account_id: accountId, user_id: userId, role })
      .onConflict((conflict) => conflict.columns(['account_id', 'user_id']).doUpdateSet({ role }))
      .execute();
  };

  return {
    ...sqlInvitations(connection),
    async create(email, passwordHash) {
      const row = { id: randomId('user'), email: spelled(email), password_hash: passwordHash, created_at: now() };
      const made = db
        .insertInto('users')
        .values(row)
        .onConflict((conflict) => conflict.doNothing());
      if (!(await made.returning('id').executeTakeFirst()))
        throw new StoreError('STORE_CONFLICT', 'there is a user with this e-mail already');
      return userOf(row);
    },
    async get(id) {
      const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
      return row && userOf(row);
    },
    async findByEmail(email) {
      const row = await db.selectFrom('users').selectAll().where('email', '=', spelled(email)).executeTakeFirst();
      return row && userOf(row);
    },
    setPassword: (id, passwordHash) =>
      transaction(async (inside) => {
        const changed = inside.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', id);
        if (!(await changed.returning('id').executeTakeFirst()))
          throw new StoreError('STORE_NOT_FOUND', `no user "${id}"`);
        await inside.deleteFrom('sessions').where('user_id', '=', id).execute();
      }),
    setMember,
    removeMember: (accountId, userId) =>
      transaction(async (inside) => {
        // The account's row stands for the list: two owners can't remove one another at once.
        await inside.updateTable('accounts').set({ id: accountId }).where('id', '=', accountId).execute();
        const gone = inside.deleteFrom('members').where('account_id', '=', accountId).where('user_id', '=', userId);
        await gone.execute();
        const owner = await inside
          .selectFrom('members')
          .select('user_id')
          .where('account_id', '=', accountId)
          .where('role', '=', 'owner')
          .executeTakeFirst();
        if (!owner) throw new StoreError('STORE_CONFLICT', 'an account needs an owner');
        const sessions = inside.deleteFrom('sessions').where('account_id', '=', accountId);
        await sessions.where('user_id', '=', userId).execute();
      }),
    members: async (accountId) => (await memberships('members.account_id', accountId).execute()) as readonly Member[],
    memberships: async (userId) => (await memberships('members.user_id', userId).execute()) as readonly Member[],
  };
}
