import { createHash, randomBytes } from 'node:crypto';

/** A fresh id: the prefix, `_`, and 16 hex digits. */
export function randomId(prefix: 'acct' | 'key' | 'user' | 'order' | 'inv'): string {
  return `${prefix}_${randomBytes(8).toString('hex')}`;
}

/** A token for a cookie or a link: 256 random bits, base64url. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What is kept of such a token. Its 256 bits need no key and no slow hash. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
