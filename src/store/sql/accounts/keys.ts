import { sql } from 'kysely';
import type { ApiKey, KeyStore, NewKey } from '../../account-store.js';
import { looksLikeSecret, newSecret, randomId, sameHash, secretHash } from '../../secrets.js';
import { StoreError } from '../../store-error.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';
import { toAccount } from './accounts.js';

const toKey = (row: Tables['api_keys']): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  hint: row.hint,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  replacedBy: row.replaced_by,
});

const missing = (id: string): StoreError => new StoreError('STORE_NOT_FOUND', `no key "${id}" in this account`);

/** API keys in SQL. `flushUses` writes the uses remembered so far. */
export function sqlKeys({ db, now, transaction, pepper }: Connection): {
  readonly keys: KeyStore;
  readonly flushUses: () => Promise<void>;
} {
  const uses = new Map<string, number>();

  const fresh = (accountId: string, name: string): { readonly row: Tables['api_keys']; readonly secret: string } => {
    const secret = newSecret();
    const row = {
      id: randomId('key'),
      account_id: accountId,
      name,
      hash: secretHash(secret, pepper),
      hint: secret.slice(-4),
      created_at: now(),
      last_used_at: null,
      expires_at: null,
      revoked_at: null,
      replaced_by: null,
    };
    return { row, secret };
  };

  const one = async (accountId: string, id: string): Promise<ApiKey | undefined> => {
    const own = db.selectFrom('api_keys').selectAll().where('id', '=', id).where('account_id', '=', accountId);
    const row = await own.executeTakeFirst();
    return row && toKey(row);
  };

  const keys: KeyStore = {
    async create(accountId, name): Promise<NewKey> {
      const { row, secret } = fresh(accountId, name);
      const account = await db.selectFrom('accounts').select('id').where('id', '=', accountId).executeTakeFirst();
      if (!account) throw new StoreError('STORE_NOT_FOUND', `no account "${accountId}"`);
      await db.insertInto('api_keys').values(row).execute();
      return { ...toKey(row), secret };
    },
    async find(secret) {
      if (!looksLikeSecret(secret)) return undefined;
      const hash = secretHash(secret, pepper);
      const row = await db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst();
      if (!row || !sameHash(row.hash, hash) || row.revoked_at !== null) return undefined;
      if (row.expires_at !== null && row.expires_at <= now()) return undefined;
      const account = db.selectFrom('accounts').selectAll().where('id', '=', row.account_id);
      return { key: toKey(row), account: toAccount(await account.executeTakeFirstOrThrow()) };
    },
    used(id, at) {
      uses.set(id, Math.max(at, uses.get(id) ?? 0));
    },
    get: one,
    async list(accountId) {
      const rows = db.selectFrom('api_keys').selectAll().where('account_id', '=', accountId);
      return (await rows.orderBy('created_at', 'desc').orderBy('id').execute()).map(toKey);
    },
    rotate: (accountId, id, graceSeconds) =>
      transaction(async (inside) => {
        const old = await inside
          .selectFrom('api_keys')
          .selectAll()
          .where('id', '=', id)
          .where('account_id', '=', accountId)
          .where('revoked_at', 'is', null)
          .where('replaced_by', 'is', null)
          .executeTakeFirst();
        if (!old) throw new StoreError('STORE_NOT_FOUND', `no key "${id}" in this account that could be rotated`);
        const { row, secret } = fresh(accountId, old.name);
        await inside.insertInto('api_keys').values(row).execute();
        const replaced = await inside
          .updateTable('api_keys')
          .set({ expires_at: now() + Math.max(0, graceSeconds) * 1000, replaced_by: row.id })
          .where('id', '=', id)
          .where('replaced_by', 'is', null)
          .returning('id')
          .execute();
        if (replaced.length === 0) throw new StoreError('STORE_CONFLICT', `key "${id}" is being rotated already`);
        return { ...toKey(row), secret };
      }),
    undoRotation: (accountId, id) =>
      transaction(async (inside) => {
        const old = await inside
          .selectFrom('api_keys')
          .select('replaced_by')
          .where('id', '=', id)
          .where('account_id', '=', accountId)
          .where('revoked_at', 'is', null)
          .where('replaced_by', 'is not', null)
          .where('expires_at', '>', now())
          .executeTakeFirst();
        const undone = new StoreError('STORE_NOT_FOUND', `no rotation of the key "${id}" that could be undone`);
        if (!old) throw undone;
        const successor = await inside
          .updateTable('api_keys')
          .set({ revoked_at: sql`coalesce(revoked_at, ${sql.lit(now())})` })
          .where('id', '=', old.replaced_by)
          .where('replaced_by', 'is', null)
          .returning('id')
          .executeTakeFirst();
        // A successor that was rotated itself has handed its callers on.
        if (!successor) throw undone;
        const row = await inside
          .updateTable('api_keys')
          .set({ expires_at: null, replaced_by: null })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow();
        return toKey(row);
      }),
    async revoke(accountId, id) {
      const row = await db
        .updateTable('api_keys')
        .set({ revoked_at: sql`coalesce(revoked_at, ${sql.lit(now())})` })
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .returningAll()
        .executeTakeFirst();
      if (!row) throw missing(id);
      return toKey(row);
    },
  };

  const flushUses = async (): Promise<void> => {
    const written = [...uses];
    uses.clear();
    for (const [id, at] of written) {
      await db
        .updateTable('api_keys')
        .set({ last_used_at: at })
        .where('id', '=', id)
        .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', at)]))
        .execute();
    }
  };
  return { keys, flushUses };
}
