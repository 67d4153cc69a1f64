import type { Kysely } from 'kysely';
import { randomId, randomToken, tokenHash } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import { type InvitationStore, type Member, normalizeEmail, type User } from '../../user-store.js';
import type { Connection, Queries } from '../connection.js';
import type { Tables } from '../tables.js';
import { createUser } from './users.js';

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
