import { type Kysely, sql } from 'kysely';
import { randomId, randomToken, tokenHash } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import {
  type InvitationStore,
  type Member,
  normalizeEmail,
  type SessionStore,
  type User,
  type UserStore,
} from '../../user-store.js';
import type { Connection, Queries } from '../connection.js';
import type { Tables } from '../tables.js';
import { createAccount } from './accounts.js';

/** A password is compared with those of at most this many users with the same e-mail. */
const MOST_USERS = 8;

/** A new user; `db` may be inside a transaction. @throws StoreError `STORE_CONFLICT` for a known e-mail */
async function createUser(
  { db, now }: Pick<Connection, 'db' | 'now'>,
  email: string,
  passwordHash: string,
  invitedTo: string | null = null,
): Promise<User> {
  const user = {
    ...{ id: randomId('user'), email: normalizeEmail(email), passwordHash },
    ...{ createdAt: now(), invitedTo, lastAccountId: invitedTo },
  };
  const made = db
    .insertInto('users')
    .values(user)
    .onConflict((conflict) => conflict.doNothing());
  if (!(await made.returning('id').executeTakeFirst()))
    throw new StoreError('STORE_CONFLICT', 'a user with this e-mail already exists');
  return user;
}

const noOwner = (): StoreError => new StoreError('STORE_CONFLICT', 'an account needs an owner');

/** Whether the account has an owner. Its row stands for the list: two owners can't remove one another at once. */
async function lockedOwner(inside: Kysely<Tables>, accountId: string): Promise<boolean> {
  await inside.updateTable('accounts').set({ id: accountId }).where('id', '=', accountId).execute();
  const owners = inside.selectFrom('members').select('userId').where('accountId', '=', accountId);
  return (await owners.where('role', '=', 'owner').executeTakeFirst()) !== undefined;
}

/** An owner who goes may have kept the link of an invitation, and would come back by it. */
async function withdrawInvitations(inside: Kysely<Tables>, accountId: string): Promise<void> {
  await inside.deleteFrom('invitations').where('accountId', '=', accountId).execute();
}

function byEmail({ db }: Connection, email: string): Promise<readonly User[]> {
  const rows = db.selectFrom('users').selectAll().where('email', '=', normalizeEmail(email));
  const own = sql`CASE WHEN invited_to IS NULL THEN 0 ELSE 1 END`;
  return rows.orderBy(own).orderBy('createdAt', 'desc').orderBy('id').limit(MOST_USERS).execute();
}

function memberships(
  { db }: Connection,
  by: 'members.accountId' | 'members.userId',
  id: string,
): Promise<readonly Member[]> {
  const rows = db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.userId')
    .innerJoin('accounts', 'accounts.id', 'members.accountId')
    .select(['members.accountId', 'members.userId', 'users.email', 'members.role']);
  return rows.where(by, '=', id).orderBy('users.email').orderBy('accounts.number').execute();
}

/** Gives a user the memberships of another one, who is gone then; the better role of two stays. */
async function takeOver(inside: Kysely<Tables>, into: string, other: string): Promise<void> {
  const accounts = inside.selectFrom('members').selectAll().where('userId', '=', other);
  for (const { accountId, role } of await accounts.execute()) {
    const own = inside.insertInto('members').values({ accountId, userId: into, role });
    const kept = own.onConflict((conflict) => {
      const both = conflict.columns(['accountId', 'userId']);
      if (role === 'viewer') return both.doNothing();
      const better = both.doUpdateSet({ role });
      return role === 'owner' ? better : better.where('members.role', '=', 'viewer');
    });
    await kept.execute();
  }
  for (const table of ['members', 'sessions', 'devices', 'secondFactors'] as const)
    await inside.deleteFrom(table).where('userId', '=', other).execute();
  await inside.deleteFrom('users').where('id', '=', other).execute();
}

export const users: Queries<Omit<UserStore, keyof InvitationStore>> = {
  create: (connection, email, passwordHash) => createUser(connection, email, passwordHash),
  signUp: (connection, { email, passwordHash, accountName, plan }) =>
    connection.transaction(async (db) => {
      const within = { ...connection, db };
      const user = await createUser(within, email, passwordHash);
      const account = await createAccount(within, accountName, plan);
      const member = { accountId: account.id, userId: user.id, role: 'owner' } as const;
      await db.insertInto('members').values(member).execute();
      return { ...member, email: user.email };
    }),
  merge: ({ transaction }, into, others) =>
    transaction(async (inside) => {
      for (const other of others) await takeOver(inside, into, other);
    }),
  get: ({ db }, id) => db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst(),
  findByEmail: async (connection, email) => (await byEmail(connection, email))[0],
  allByEmail: byEmail,
  setPassword: ({ transaction }, id, passwordHash) =>
    transaction(async (inside) => {
      const changed = inside.updateTable('users').set({ passwordHash }).where('id', '=', id);
      if (!(await changed.returning('id').executeTakeFirst()))
        throw new StoreError('STORE_NOT_FOUND', `no user "${id}"`);
      await inside.deleteFrom('sessions').where('userId', '=', id).execute();
      await inside.deleteFrom('devices').where('userId', '=', id).execute();
    }),
  setMember: ({ transaction }, accountId, userId, role) =>
    transaction(async (inside) => {
      const hadOwner = await lockedOwner(inside, accountId);
      const members = inside.selectFrom('members').select('role').where('accountId', '=', accountId);
      const before = await members.where('userId', '=', userId).executeTakeFirst();
      await inside
        .insertInto('members')
        .values({ accountId, userId, role })
        .onConflict((conflict) => conflict.columns(['accountId', 'userId']).doUpdateSet({ role }))
        .execute();
      if (hadOwner && !(await lockedOwner(inside, accountId))) throw noOwner();
      if (before?.role === 'owner' && role !== 'owner') await withdrawInvitations(inside, accountId);
    }),
  removeMember: ({ transaction }, accountId, userId) =>
    transaction(async (inside) => {
      await lockedOwner(inside, accountId);
      const gone = inside.deleteFrom('members').where('accountId', '=', accountId).where('userId', '=', userId);
      const removed = await gone.returning('role').executeTakeFirst();
      if (!(await lockedOwner(inside, accountId))) throw noOwner();
      const sessions = inside.deleteFrom('sessions').where('accountId', '=', accountId);
      await sessions.where('userId', '=', userId).execute();
      if (removed?.role === 'owner') await withdrawInvitations(inside, accountId);
    }),
  members: (connection, accountId) => memberships(connection, 'members.accountId', accountId),
  memberships: (connection, userId) => memberships(connection, 'members.userId', userId),
};

async function noteAccount({ db }: Connection, userId: string, accountId: string): Promise<void> {
  await db.updateTable('users').set({ lastAccountId: accountId }).where('id', '=', userId).execute();
}

export const sessions: Queries<SessionStore> = {
  async create(connection, userId, accountId, expiresAt) {
    const token = randomToken();
    const session = { tokenHash: tokenHash(token), userId, accountId, createdAt: connection.now(), expiresAt };
    await connection.db.insertInto('sessions').values(session).execute();
    await noteAccount(connection, userId, accountId);
    return token;
  },
  find({ db, now }, token) {
    const session = db.selectFrom('sessions').select(['userId', 'accountId', 'createdAt', 'expiresAt']);
    return session.where('tokenHash', '=', tokenHash(token)).where('expiresAt', '>', now()).executeTakeFirst();
  },
  async switchAccount(connection, token, accountId) {
    const own = connection.db.updateTable('sessions').set({ accountId }).where('tokenHash', '=', tokenHash(token));
    const session = await own.returning('userId').executeTakeFirst();
    if (session) await noteAccount(connection, session.userId, accountId);
  },
  async end({ db }, token) {
    await db.deleteFrom('sessions').where('tokenHash', '=', tokenHash(token)).execute();
  },
};

/** The columns that may be shown: all but the hash. */
const SHOWN = ['id', 'accountId', 'email', 'role', 'expiresAt'] as const;

async function addMember(
  inside: Kysely<Tables>,
  { accountId, role }: Tables['invitations'],
  { id: userId, email }: Pick<User, 'id' | 'email'>,
): Promise<Member> {
  await inside
    .insertInto('members')
    .values({ accountId, userId, role })
    // Who is an owner already doesn't become a viewer by an old invitation.
    .onConflict((conflict) => conflict.columns(['accountId', 'userId']).doNothing())
    .execute();
  const members = inside.selectFrom('members').select('role').where('accountId', '=', accountId);
  const member = await members.where('userId', '=', userId).executeTakeFirstOrThrow();
  return { accountId, userId, email, role: member.role };
}

/** Takes up an invitation, which is gone then. */
async function takeUp({ db, now }: Pick<Connection, 'db' | 'now'>, token: string): Promise<Tables['invitations']> {
  const taken = db.deleteFrom('invitations').where('tokenHash', '=', tokenHash(token));
  const row = await taken.where('expiresAt', '>', now()).returningAll().executeTakeFirst();
  if (!row) throw new StoreError('STORE_NOT_FOUND', 'no such invitation; it may be used up or too old');
  return row;
}

export const invitations: Queries<InvitationStore> = {
  async invite({ db }, accountId, email, role, expiresAt) {
    const token = randomToken();
    const invitation = { id: randomId('inv'), accountId, email: normalizeEmail(email), role, expiresAt };
    await db
      .insertInto('invitations')
      .values({ ...invitation, tokenHash: tokenHash(token) })
      .execute();
    return { ...invitation, token };
  },
  invitations({ db, now }, accountId) {
    const rows = db.selectFrom('invitations').select(SHOWN).where('accountId', '=', accountId);
    return rows.where('expiresAt', '>', now()).orderBy('email').execute();
  },
  findInvitation({ db, now }, token) {
    const rows = db.selectFrom('invitations').select(SHOWN).where('tokenHash', '=', tokenHash(token));
    return rows.where('expiresAt', '>', now()).executeTakeFirst();
  },
  accept: ({ transaction, now }, token, userId) =>
    transaction(async (db) => {
      const invitation = await takeUp({ db, now }, token);
      const user = await db.selectFrom('users').select(['id', 'email']).where('id', '=', userId).executeTakeFirst();
      if (!user) throw new StoreError('STORE_NOT_FOUND', `no user "${userId}"`);
      return addMember(db, invitation, user);
    }),
  join: ({ transaction, now }, token, passwordHash) =>
    transaction(async (db) => {
      const invitation = await takeUp({ db, now }, token);
      const { email, accountId } = invitation;
      return addMember(db, invitation, await createUser({ db, now }, email, passwordHash, accountId));
    }),
  async withdrawInvitation({ db }, accountId, id) {
    await db.deleteFrom('invitations').where('id', '=', id).where('accountId', '=', accountId).execute();
  },
};
