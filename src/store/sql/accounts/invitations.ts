import type { Kysely } from 'kysely';
import { randomId, randomToken, tokenHash } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Invitation, InvitationStore, Member, Role, User } from '../../user-store.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';
import { createUser } from './users.js';

const toInvitation = (row: Tables['invitations']): Invitation => ({
  id: row.id,
  accountId: row.account_id,
  email: row.email,
  role: row.role as Role,
  expiresAt: row.expires_at,
});

const addMember = async (
  inside: Kysely<Tables>,
  { account_id, role }: Tables['invitations'],
  user: Pick<User, 'id' | 'email'>,
): Promise<Member> => {
  await inside
    .insertInto('members')
    .values({ account_id, user_id: user.id, role })
    // Who is an owner already doesn't become a viewer by an old invitation.
    .onConflict((conflict) => conflict.columns(['account_id', 'user_id']).doNothing())
    .execute();
  const members = inside.selectFrom('members').select('role').where('account_id', '=', account_id);
  const { role: now } = await members.where('user_id', '=', user.id).executeTakeFirstOrThrow();
  return { accountId: account_id, userId: user.id, email: user.email, role: now as Role };
};

/** Invitations in SQL; one that is taken up is gone. */
export function sqlInvitations({ db, now, transaction }: Connection): InvitationStore {
  const takeUp = async (inside: Kysely<Tables>, token: string): Promise<Tables['invitations']> => {
    const taken = inside.deleteFrom('invitations').where('token_hash', '=', tokenHash(token));
    const row = await taken.where('expires_at', '>', now()).returningAll().executeTakeFirst();
    if (!row) throw new StoreError('STORE_NOT_FOUND', 'no such invitation; it may be used up or too old');
    return row;
  };
  return {
    async invite(accountId, email, role, expiresAt) {
      const token = randomToken();
      const row = {
        id: randomId('inv'),
        account_id: accountId,
        email: email.trim().toLowerCase(),
        role,
        token_hash: tokenHash(token),
        expires_at: expiresAt,
      };
      await db.insertInto('invitations').values(row).execute();
      return { ...toInvitation(row), token };
    },
    async invitations(accountId) {
      const rows = db.selectFrom('invitations').selectAll().where('account_id', '=', accountId);
      return (await rows.where('expires_at', '>', now()).orderBy('email').execute()).map(toInvitation);
    },
    async findInvitation(token) {
      const rows = db.selectFrom('invitations').selectAll().where('token_hash', '=', tokenHash(token));
      const row = await rows.where('expires_at', '>', now()).executeTakeFirst();
      return row && toInvitation(row);
    },
    accept: (token, userId) =>
      transaction(async (inside) => {
        const row = await takeUp(inside, token);
        const user = await inside.selectFrom('users').select('email').where('id', '=', userId).executeTakeFirst();
        if (!user) throw new StoreError('STORE_NOT_FOUND', `no user "${userId}"`);
        return addMember(inside, row, { id: userId, email: user.email });
      }),
    join: (token, passwordHash) =>
      transaction(async (inside) => {
        const row = await takeUp(inside, token);
        return addMember(inside, row, await createUser({ db: inside, now }, row.email, passwordHash, row.account_id));
      }),
    async withdrawInvitation(accountId, id) {
      await db.deleteFrom('invitations').where('id', '=', id).where('account_id', '=', accountId).execute();
    },
  };
}
