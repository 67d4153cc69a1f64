import { randomBytes } from 'node:crypto';

const ISSUER = 'Portcullis';
/** Seconds that a code is for. */
const PERIOD = 30;
/** Steps before and after the present one whose codes are taken: clocks differ. */
const WINDOW = 1;

/** Time-based one-time passwords, six digits every 30 seconds. @see RFC 6238 */
export interface OneTimePasswords {
  /** A fresh secret of 160 bits, base32. */
  newSecret(): string;
  /** What authenticator apps read. */
  uri(secret: string, email: string): string;
  /** The time step that a code belongs to; undefined for a wrong code. `now` in milliseconds since 1970. */
  stepOf(secret: string, code: string, now: number): number | undefined;
}

/** By the package `otpauth`; undefined where it isn't installed. */
export async function loadOneTimePasswords(): Promise<OneTimePasswords | undefined> {
  try {
    const { Secret, TOTP } = await import('otpauth');
    const of = (secret: string, label = '') =>
      new TOTP({ issuer: ISSUER, label, secret: Secret.fromBase32(secret), digits: 6, period: PERIOD });
    return {
      newSecret: () => new Secret({ size: 20 }).base32,
      uri: (secret, email) => of(secret, email).toString(),
      stepOf(secret, code, now) {
        const delta = of(secret).validate({ token: code.replace(/\s/g, ''), timestamp: now, window: WINDOW });
        return delta === null ? undefined : Math.floor(now / 1000 / PERIOD) + delta;
      },
    };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Ten codes, each of which replaces one code of the app: `4f7k-9q2m-x8ab`. 60 bits each. */
export function newRecoveryCodes(): readonly string[] {
  const alphabet = '23456789abcdefghjkmnpqrstuvwxyz0';
  return Array.from({ length: 10 }, () => {
    const letters = [...randomBytes(12)].map((byte) => alphabet[byte & 31]).join('');
    return letters.replace(/(.{4})(?=.)/g, '$1-');
  });
}
