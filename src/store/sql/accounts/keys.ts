import { sql } from 'kysely';
import type { ApiKey, KeyStore } from '../../account-store.js';
import { looksLikeSecret, newSecret, randomId, sameHash, secretHash } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Connection, Queries } from '../connection.js';
import type { Tables } from '../tables.js';
import { findAccount, toAccount } from './accounts.js';

/** The columns that may be shown: all but the hash. */
const SHOWN = [
  'id',
  'accountId',
  'name',
  'hint',
  'createdAt',
  'lastUsedAt',
  'expiresAt',
  'revokedAt',
  'replacedBy',
] as const;

function fresh(
  { now, pepper }: Connection,
  accountId: string,
  name: string,
): { readonly row: Tables['apiKeys']; readonly key: ApiKey; readonly secret: string } {
  const secret = newSecret();
  const key = {
    ...{ id: randomId('key'), accountId, name, hint: secret.slice(-4), createdAt: now() },
    ...{ lastUsedAt: null, expiresAt: null, revokedAt: null, replacedBy: null },
  };
  return { row: { ...key, hash: secretHash(secret, pepper) }, key, secret };
}

/** API keys, but for their uses. */
export const keys: Queries<Omit<KeyStore, 'used'>> = {
  async create(connection, accountId, name) {
    const { row, key, secret } = fresh(connection, accountId, name);
    if (!(await findAccount(connection, accountId)))
      throw new StoreError('STORE_NOT_FOUND', `no account "${accountId}"`);
    await connection.db.insertInto('apiKeys').values(row).execute();
    return { ...key, secret };
  },
  async find({ db, now, pepper }, secret) {
    if (!looksLikeSecret(secret)) return undefined;
    const hash = secretHash(secret, pepper);
    const row = await db
      .selectFrom('apiKeys')
      .select([...SHOWN, 'hash'])
      .where('hash', '=', hash)
      .executeTakeFirst();
    if (!row || !sameHash(row.hash, hash) || row.revokedAt !== null) return undefined;
    if (row.expiresAt !== null && row.expiresAt <= now()) return undefined;
    const { hash: _hash, ...key } = row;
    const account = db.selectFrom('accounts').selectAll().where('id', '=', key.accountId);
    return { key, account: toAccount(await account.executeTakeFirstOrThrow()) };
  },
  get({ db }, accountId, id) {
    const own = db.selectFrom('apiKeys').select(SHOWN).where('id', '=', id).where('accountId', '=', accountId);
    return own.executeTakeFirst();
  },
  list({ db }, accountId) {
    const rows = db.selectFrom('apiKeys').select(SHOWN).where('accountId', '=', accountId);
    return rows.orderBy('createdAt', 'desc').orderBy('id').execute();
  },
  rotate: (connection, accountId, id, graceSeconds) =>
    connection.transaction(async (inside) => {
      const old = await inside
        .selectFrom('apiKeys')
        .select('name')
        .where('id', '=', id)
        .where('accountId', '=', accountId)
        .where('revokedAt', 'is', null)
        .where('replacedBy', 'is', null)
        .executeTakeFirst();
      if (!old) throw new StoreError('STORE_NOT_FOUND', `no key "${id}" in this account that could be rotated`);
      const { row, key, secret } = fresh(connection, accountId, old.name);
      await inside.insertInto('apiKeys').values(row).execute();
      const expiresAt = connection.now() + Math.max(0, graceSeconds) * 1000;
      const replaced = inside.updateTable('apiKeys').set({ expiresAt, replacedBy: key.id }).where('id', '=', id);
      if (!(await replaced.where('replacedBy', 'is', null).returning('id').executeTakeFirst()))
        throw new StoreError('STORE_CONFLICT', `key "${id}" is being rotated already`);
      return { ...key, secret };
    }),
  undoRotation: ({ transaction, now }, accountId, id) =>
    transaction(async (inside) => {
      const old = await inside
        .selectFrom('apiKeys')
        .select('replacedBy')
        .where('id', '=', id)
        .where('accountId', '=', accountId)
        .where('revokedAt', 'is', null)
        .where('replacedBy', 'is not', null)
        .where('expiresAt', '>', now())
        .executeTakeFirst();
      const undone = new StoreError('STORE_NOT_FOUND', `no rotation of the key "${id}" that could be undone`);
      if (!old) throw undone;
      const successor = inside.updateTable('apiKeys').set({ revokedAt: firstTime(now()) });
      const revoked = successor.where('id', '=', old.replacedBy).where('replacedBy', 'is', null).returning('id');
      // A successor that was rotated itself has handed its callers on.
      if (!(await revoked.executeTakeFirst())) throw undone;
      const kept = inside.updateTable('apiKeys').set({ expiresAt: null, replacedBy: null }).where('id', '=', id);
      return kept.returning(SHOWN).executeTakeFirstOrThrow();
    }),
  async revoke({ db, now }, accountId, id) {
    const own = db.updateTable('apiKeys').set({ revokedAt: firstTime(now()) });
    const row = own.where('id', '=', id).where('accountId', '=', accountId).returning(SHOWN);
    const key = await row.executeTakeFirst();
    if (!key) throw new StoreError('STORE_NOT_FOUND', `no key "${id}" in this account`);
    return key;
  },
};

/** A key stays revoked as of the first time. */
const firstTime = (now: number) => sql<number>`coalesce(revoked_at, ${sql.lit(now)})`;

/** Writes when keys were used last. */
export async function writeUses({ db }: Connection, uses: ReadonlyMap<string, number>): Promise<void> {
  for (const [id, at] of uses) {
    const own = db.updateTable('apiKeys').set({ lastUsedAt: at }).where('id', '=', id);
    await own.where((where) => where.or([where('lastUsedAt', 'is', null), where('lastUsedAt', '<', at)])).execute();
  }
}
