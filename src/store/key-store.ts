import type { Account } from './account-store.js';

/** An API key as it may be shown: never its secret. */
export interface ApiKey {
  /** `key_` and 16 hex digits. */
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** The secret's last four characters, to tell keys apart. */
  readonly hint: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  /** Set by a rotation: the old key works until then. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** The key that took its place. */
  readonly replacedBy: string | null;
}

/** A key just made. The secret exists here and nowhere else. */
export interface NewKey extends ApiKey {
  readonly secret: string;
}

/** API keys. What takes an account id reaches keys of that account alone. Times are milliseconds since 1970. */
export interface KeyStore {
  create(accountId: string, name: string): Promise<NewKey>;
  /** The key and its account, as they are now; undefined for a key that is malformed, unknown, revoked or expired. */
  find(secret: string): Promise<{ readonly key: ApiKey; readonly account: Account } | undefined>;
  /** Remembers a use; written within some seconds, never on the caller's way. */
  used(id: string, at: number): void;
  get(accountId: string, id: string): Promise<ApiKey | undefined>;
  /** Newest first, revoked ones too. */
  list(accountId: string): Promise<readonly ApiKey[]>;
  /** A new key in place of another, which works for `graceSeconds` more. @throws StoreError STORE_NOT_FOUND */
  rotate(accountId: string, id: string, graceSeconds: number): Promise<NewKey>;
  /** @throws StoreError STORE_NOT_FOUND */
  revoke(accountId: string, id: string): Promise<ApiKey>;
}
