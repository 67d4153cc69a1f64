import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';

/** Signs the BLAKE2b-512 of the file; the older `Ed`, of the file itself, is not read. */
const PREHASHED = 'ED';
/** Of keys. */
const ED25519 = 'Ed';
const ID_LENGTH = 8;
const KEY_LENGTH = 32;
const SIGNATURE_LENGTH = 64;
const SECRET_LENGTH = 158;
/** Where a secret key file has the id of the key, after algorithms and what a password needs. */
const SECRET_ID = 54;

const TRUSTED = 'trusted comment: ';

/** A public key in minisign's format. */
export interface MinisignKey {
  readonly id: Buffer;
  readonly key: KeyObject;
}

/** The first line of a text that is Base64, as bytes. Keys and signatures have a comment before it. */
function packet(text: string, algorithm: string, length: number): Buffer | undefined {
  const line = text.split(/\r?\n/).find((it) => it !== '' && !it.includes(':'));
  const bytes = Buffer.from(line ?? '', 'base64');
  return bytes.length === length && bytes.toString('latin1', 0, 2) === algorithm ? bytes : undefined;
}

/** Reads a public key: the text of `minisign.pub`, or its second line. Undefined for anything else. */
export function readPublicKey(text: string): MinisignKey | undefined {
  const bytes = packet(text, ED25519, 2 + ID_LENGTH + KEY_LENGTH);
  if (bytes === undefined) return undefined;
  const x = bytes.subarray(2 + ID_LENGTH).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return { id: bytes.subarray(2, 2 + ID_LENGTH), key };
}

/**
 * Whether a signature is that of a file by one of the keys, and its trusted comment too.
 * @see https://jedisct1.github.io/minisign/#signature-format
 */
export function isSigned(file: Uint8Array, signature: string, keys: readonly MinisignKey[]): boolean {
  const bytes = packet(signature, PREHASHED, 2 + ID_LENGTH + SIGNATURE_LENGTH);
  const [, , comment = '', whole = ''] = signature.split(/\r?\n/);
  if (bytes === undefined || !comment.startsWith(TRUSTED)) return false;
  const own = bytes.subarray(2 + ID_LENGTH);
  const signed = Buffer.concat([own, Buffer.from(comment.slice(TRUSTED.length))]);
  const key = keys.find(({ id }) => id.equals(bytes.subarray(2, 2 + ID_LENGTH)))?.key;
  return (
    key !== undefined &&
    verify(null, blake2b(file), key, own) &&
    verify(null, signed, key, Buffer.from(whole, 'base64'))
  );
}

/** Signs a file by the text of a secret key without a password. Undefined for any other key. */
export function signFile(file: Uint8Array, secretKey: string, comment: string): string | undefined {
  const bytes = packet(secretKey, ED25519, SECRET_LENGTH);
  // The bytes after the first algorithm name that of the password.
  if (bytes === undefined || bytes.readUInt16LE(2) !== 0) return undefined;
  const id = bytes.subarray(SECRET_ID, SECRET_ID + ID_LENGTH);
  const seed = bytes.subarray(SECRET_ID + ID_LENGTH, SECRET_ID + ID_LENGTH + KEY_LENGTH);
  const half = bytes.subarray(SECRET_ID + ID_LENGTH + KEY_LENGTH, SECRET_ID + ID_LENGTH + 2 * KEY_LENGTH);
  const jwk = { kty: 'OKP', crv: 'Ed25519', d: seed.toString('base64url'), x: half.toString('base64url') };
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const own = sign(null, blake2b(file), key);
  const whole = sign(null, Buffer.concat([own, Buffer.from(comment)]), key);
  const line = Buffer.concat([Buffer.from(PREHASHED), id, own]).toString('base64');
  return `untrusted comment: made by portcullis rules export\n${line}\n${TRUSTED}${comment}\n${whole.toString('base64')}\n`;
}

const blake2b = (bytes: Uint8Array): Buffer => hash('blake2b512', bytes, 'buffer');
