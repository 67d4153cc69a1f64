import { randomId } from '../random-id.js';
import { StoreError } from '../store-error.js';
import type { User } from '../user-store.js';
import type { Connection } from './connection.js';
import type { Tables } from './tables.js';

/** A user as callers see it. */
export const userOf = (row: Tables['users']): User => ({
  id: row.id,
  email: row.email,
  passwordHash: row.password_hash,
  createdAt: row.created_at,
});

/** One spelling of an e-mail address. */
export const spelled = (email: string): string => email.trim().toLowerCase();

/** A new user; `db` may be inside a transaction. @throws StoreError `STORE_CONFLICT` for a known e-mail */
export async function createUser(
  { db, now }: Pick<Connection, 'db' | 'now'>,
  email: string,
  passwordHash: string,
): Promise<User> {
  const row = { id: randomId('user'), email: spelled(email), password_hash: passwordHash, created_at: now() };
  const made = db
    .insertInto('users')
    .values(row)
    .onConflict((conflict) => conflict.doNothing());
  if (!(await made.returning('id').executeTakeFirst()))
    throw new StoreError('STORE_CONFLICT', 'there is a user with this e-mail already');
  return userOf(row);
}
