import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import type { NoteStore } from './store.js';
import { StoreError } from './store-error.js';

/** A fresh id: the prefix, `_`, and 16 hex digits. */
export function randomId(prefix: 'acct' | 'key' | 'user' | 'order' | 'inv' | 'audit' | 'hook' | 'msg'): string {
  return `${prefix}_${randomBytes(8).toString('hex')}`;
}

/** A token for a cookie or a link: 256 random bits, base64url. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the digest that is stored of such a token. Its 256 bits need no key and no slow hash. */
export function tokenHash(token: string): string {
  return hash('sha256', token);
}

const SHAPE = /^svc_live_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})$/;

const checksum = (random: string): string => hash('sha256', `portcullis-key:${random}`, 'base64url').slice(0, 6);

/** A fresh key: `svc_live_`, 32 random bytes as base64url, and a checksum of six characters. */
export function newSecret(): string {
  const random = randomBytes(32).toString('base64url');
  return `svc_live_${random}${checksum(random)}`;
}

/** Whether a text is a key that this service could have made: a typo is refused without asking the database. */
export function looksLikeSecret(secret: string): boolean {
  const parts = SHAPE.exec(secret);
  return parts?.[1] !== undefined && parts[2] === checksum(parts[1]);
}

/** Returns the digest that is stored of a key: HMAC-SHA-256 under the pepper, hex. */
export function secretHash(secret: string, pepper: string): string {
  return createHmac('sha256', pepper).update(secret).digest('hex');
}

/**
 * Returns the digest that is stored of a text that isn't kept whole: HMAC-SHA-256 under the pepper, hex, over its SHA-256. A plain digest of a
 * short text, e.g. of a phone number, is found by trying.
 */
export function textDigest(sha256: string, pepper: string): string {
  return createHmac('sha256', pepper).update(`evidence:${sha256}`).digest('hex');
}

/** Returns the digest of a name that attempts are counted by: an e-mail or a client's address. */
export function attemptDigest(name: string, pepper: string): string {
  return createHmac('sha256', pepper).update(`attempt:${name}`).digest('hex');
}

/** Compares two hashes in a time that doesn't tell where they differ. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

const CHECK_NAME = 'pepper-check';

/**
 * The secret that keys are hashed under. Every process on one database must have the same: a digest of it is noted there.
 *
 * @throws StoreError `STORE_SETTINGS` where it is too short or differs
 */
export async function settledPepper(
  notes: NoteStore,
  given: string | undefined,
  made: () => Promise<string>,
): Promise<string> {
  if (given !== undefined && given.length < 32)
    throw new StoreError('STORE_SETTINGS', 'the pepper has fewer than 32 characters');
  const pepper = given ?? (await made());
  const digest = createHmac('sha256', pepper).update(CHECK_NAME).digest('hex');
  if ((await notes.claim(CHECK_NAME, digest)) !== digest)
    throw new StoreError('STORE_SETTINGS', 'the pepper differs from the one that this database was set up with');
  return pepper;
}

/** A fresh pepper: 256 random bits, hex. */
export function newPepper(): string {
  return randomBytes(32).toString('hex');
}

const sealingKey = (pepper: string): Buffer =>
  Buffer.from(hkdfSync('sha256', pepper, '', 'portcullis sealed secrets', 32));

/** A secret that the service has to read again (of a webhook, of a second factor): AES-256-GCM under the pepper, base64url. */
export function sealed(secret: string, pepper: string): string {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', sealingKey(pepper), iv);
  const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url');
}

/** The secret in what `sealed` gave. @throws Error where it was changed, or sealed under another pepper */
export function unsealed(text: string, pepper: string): string {
  const bytes = Buffer.from(text, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(pepper), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
}
