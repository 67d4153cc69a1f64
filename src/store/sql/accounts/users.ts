import { type Kysely, sql } from 'kysely';
import { randomId, randomToken, tokenHash } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { InvitationStore, Member, SessionStore, User, UserStore } from '../../user-store.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';
import { createAccount } from './accounts.js';

/** A password is compared with those of at most this many users with the same e-mail. */
const MOST_USERS = 8;

/** A user as callers see it. */
const toUser = (row: Tables['users']): User => ({
  id: row.id,
  email: row.email,
  passwordHash: row.password_hash,
  createdAt: row.created_at,
  invitedTo: row.invited_to,
  lastAccountId: row.last_account_id,
});

/** One spelling of an e-mail address. */
const spelled = (email: string): string => email.trim().toLowerCase();

/** A new user; `db` may be inside a transaction. @throws StoreError `STORE_CONFLICT` for a known e-mail */
export async function createUser(
  { db, now }: Pick<Connection, 'db' | 'now'>,
  email: string,
  passwordHash: string,
  invitedTo: string | null = null,
): Promise<User> {
  const row = {
    id: randomId('user'),
    email: spelled(email),
    password_hash: passwordHash,
    created_at: now(),
    invited_to: invitedTo,
    last_account_id: invitedTo,
  };
  const made = db
    .insertInto('users')
    .values(row)
    .onConflict((conflict) => conflict.doNothing());
  if (!(await made.returning('id').executeTakeFirst()))
    throw new StoreError('STORE_CONFLICT', 'a user with this e-mail already exists');
  return toUser(row);
}

const noOwner = (): StoreError => new StoreError('STORE_CONFLICT', 'an account needs an owner');

/** Whether the account has an owner. Its row stands for the list: two owners can't remove one another at once. */
const lockedOwner = async (inside: Kysely<Tables>, accountId: string): Promise<boolean> => {
  await inside.updateTable('accounts').set({ id: accountId }).where('id', '=', accountId).execute();
  const owners = inside.selectFrom('members').select('user_id').where('account_id', '=', accountId);
  return (await owners.where('role', '=', 'owner').executeTakeFirst()) !== undefined;
};

/** Users and members in SQL. */
export function sqlUsers(connection: Connection): Omit<UserStore, keyof InvitationStore> {
  const { db, transaction } = connection;

  const byEmail = async (email: string): Promise<readonly User[]> => {
    const rows = db.selectFrom('users').selectAll().where('email', '=', spelled(email));
    const own = sql`CASE WHEN invited_to IS NULL THEN 0 ELSE 1 END`;
    const some = await rows.orderBy(own).orderBy('created_at', 'desc').orderBy('id').limit(MOST_USERS).execute();
    return some.map(toUser);
  };

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

  return {
    create: (email, passwordHash) => createUser(connection, email, passwordHash),
    signUp: ({ email, passwordHash, accountName, plan }) =>
      transaction(async (inside) => {
        const within = { ...connection, db: inside };
        const user = await createUser(within, email, passwordHash);
        const account = await createAccount(within, accountName, plan);
        const row = { account_id: account.id, user_id: user.id, role: 'owner' };
        await inside.insertInto('members').values(row).execute();
        return { accountId: account.id, userId: user.id, email: user.email, role: 'owner' as const };
      }),
    merge: (into, others) =>
      transaction(async (inside) => {
        for (const other of others) {
          const accounts = inside.selectFrom('members').selectAll().where('user_id', '=', other);
          for (const { account_id, role } of await accounts.execute()) {
            const own = inside.insertInto('members').values({ account_id, user_id: into, role });
            const kept = own.onConflict((conflict) => {
              const both = conflict.columns(['account_id', 'user_id']);
              if (role === 'viewer') return both.doNothing();
              const better = both.doUpdateSet({ role });
              return role === 'owner' ? better : better.where('members.role', '=', 'viewer');
            });
            await kept.execute();
          }
          for (const table of ['members', 'sessions', 'devices'] as const)
            await inside.deleteFrom(table).where('user_id', '=', other).execute();
          await inside.deleteFrom('second_factors').where('user_id', '=', other).execute();
          await inside.deleteFrom('users').where('id', '=', other).execute();
        }
      }),
    async get(id) {
      const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toUser(row);
    },
    async findByEmail(email) {
      const [first] = await byEmail(email);
      return first;
    },
    allByEmail: byEmail,
    setPassword: (id, passwordHash) =>
      transaction(async (inside) => {
        const changed = inside.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', id);
        if (!(await changed.returning('id').executeTakeFirst()))
          throw new StoreError('STORE_NOT_FOUND', `no user "${id}"`);
        await inside.deleteFrom('sessions').where('user_id', '=', id).execute();
        await inside.deleteFrom('devices').where('user_id', '=', id).execute();
      }),
    setMember: (accountId, userId, role) =>
      transaction(async (inside) => {
        const hadOwner = await lockedOwner(inside, accountId);
        const members = inside.selectFrom('members').select('role').where('account_id', '=', accountId);
        const before = await members.where('user_id', '=', userId).executeTakeFirst();
        await inside
          .insertInto('members')
          .values({ account_id: accountId, user_id: userId, role })
          .onConflict((conflict) => conflict.columns(['account_id', 'user_id']).doUpdateSet({ role }))
          .execute();
        if (hadOwner && !(await lockedOwner(inside, accountId))) throw noOwner();
        if (before?.role === 'owner' && role !== 'owner') await withdrawInvitations(inside, accountId);
      }),
    removeMember: (accountId, userId) =>
      transaction(async (inside) => {
        await lockedOwner(inside, accountId);
        const gone = inside.deleteFrom('members').where('account_id', '=', accountId).where('user_id', '=', userId);
        const removed = await gone.returning('role').executeTakeFirst();
        if (!(await lockedOwner(inside, accountId))) throw noOwner();
        const sessions = inside.deleteFrom('sessions').where('account_id', '=', accountId);
        await sessions.where('user_id', '=', userId).execute();
        if (removed?.role === 'owner') await withdrawInvitations(inside, accountId);
      }),
    members: async (accountId) => (await memberships('members.account_id', accountId).execute()) as readonly Member[],
    memberships: async (userId) => (await memberships('members.user_id', userId).execute()) as readonly Member[],
  };
}

/** An owner who goes may have kept the link of an invitation, and would come back by it. */
async function withdrawInvitations(inside: Kysely<Tables>, accountId: string): Promise<void> {
  await inside.deleteFrom('invitations').where('account_id', '=', accountId).execute();
}

/** Sessions in SQL. */
export function sqlSessions({ db, now }: Connection): SessionStore {
  const used = async (userId: string, accountId: string): Promise<void> => {
    await db.updateTable('users').set({ last_account_id: accountId }).where('id', '=', userId).execute();
  };
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
      await used(userId, accountId);
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
      const session = await own.returning('user_id').executeTakeFirst();
      if (session) await used(session.user_id, accountId);
    },
    async end(token) {
      await db.deleteFrom('sessions').where('token_hash', '=', tokenHash(token)).execute();
    },
    async endAll(userId) {
      await db.deleteFrom('sessions').where('user_id', '=', userId).execute();
    },
  };
}
