import { hash, verify } from '@node-rs/argon2';

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. @see https://cheatsheetseries.owasp.org (Password Storage) */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** The password as an argon2id string in PHC form, with its salt and cost inside. Takes tens of milliseconds, off the event loop. */
export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize('NFC'), cost);
}

/** True when `stored` is of this password. A string that isn't an argon2 hash matches none. */
export async function passwordMatches(stored: string, password: string): Promise<boolean> {
  try {
    return await verify(stored, password.normalize('NFC'));
  } catch {
    // The library throws on a malformed hash. Nobody can sign in to such an account; this call did nothing wrong.
    return false;
  }
}
