import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const shape = /^svc_live_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})$/;

const checksum = (random: string): string =>
  createHash('sha256').update(`portcullis-key:${random}`).digest('base64url').slice(0, 6);

/** A fresh key: `svc_live_`, 32 random bytes as base64url, and a checksum of six characters. */
export function newSecret(): string {
  const random = randomBytes(32).toString('base64url');
  return `svc_live_${random}${checksum(random)}`;
}

/** Whether a text is a key that this service could have made: a typo is refused without asking the database. */
export function looksLikeSecret(secret: string): boolean {
  const parts = shape.exec(secret);
  return parts?.[1] !== undefined && parts[2] === checksum(parts[1]);
}

/** What is kept of a key: HMAC-SHA-256 under the pepper, hex. */
export function secretHash(secret: string, pepper: string): string {
  return createHmac('sha256', pepper).update(secret).digest('hex');
}

/** Compares two hashes in a time that doesn't tell where they differ. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
