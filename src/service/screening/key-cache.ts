import { hash } from 'node:crypto';

/** How long an answer of the store is believed, milliseconds: a revoked key is dead within a second, with room to spare. */
const KEY_BELIEVED_MS = 500;

const MAX_KEYS = 10_000;

/** Looks keys up, asking the store once for many calls with the same key. */
export type FindKey<Owner> = (secret: string) => Promise<Owner | undefined>;

interface Known<Owner> {
  readonly asked: number;
  readonly owner: Promise<Owner | undefined>;
}

/**
 * Remembers who owns a key for `KEY_BELIEVED_MS` from the moment the store was asked. Unknown keys aren't
 * remembered: a key works as soon as it is made. Secrets are held as digests only, so that a lookup tells nothing by
 * its time.
 */
export function cachedKeys<Owner>(find: FindKey<Owner>, now: () => number): FindKey<Owner> {
  const known = new Map<string, Known<Owner>>();

  return (secret) => {
    const digest = hash('sha256', secret, 'base64');
    const at = now();
    const remembered = known.get(digest);
    if (remembered !== undefined && at - remembered.asked < KEY_BELIEVED_MS) return remembered.owner;
    const owner = find(secret);
    known.delete(digest);
    known.set(digest, { asked: at, owner });
    const forget = (): void => {
      if (known.get(digest)?.owner === owner) known.delete(digest);
    };
    owner.then((found) => found === undefined && forget(), forget);
    // Oldest first: a flood of wrong keys can't grow it.
    for (const [oldest] of known) {
      if (known.size <= MAX_KEYS) break;
      known.delete(oldest);
    }
    return owner;
  };
}
