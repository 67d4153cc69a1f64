import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Time that a response of the store is believed, milliseconds: a revoked key is dead within a second, with room to spare. */
const KEY_BELIEVED_MS = 500;

const MAX_KEYS = 10_000;

/** Looks keys up, asking the store once for many calls with the same key. */
export type FindKey<Owner> = (secret: string) => Promise<Owner | undefined>;

/**
 * Remembers who owns a key for `KEY_BELIEVED_MS` from the moment the store was asked. Unknown keys aren't
 * remembered: a key works as soon as it is made. Secrets are held as digests only, so that a lookup tells nothing by
 * its time.
 */
export function cachedKeys<Owner>(find: FindKey<Owner>, now: () => number): FindKey<Owner> {
  const known = new LRUCache<string, Promise<Owner | undefined>>({
    max: MAX_KEYS,
    ttl: KEY_BELIEVED_MS,
    ttlResolution: 0,
    ttlAutopurge: true,
    perf: { now },
  });
  return (secret) => {
    const digest = hash('sha256', secret, 'base64');
    const remembered = known.get(digest);
    if (remembered !== undefined) return remembered;
    const owner = find(secret);
    known.set(digest, owner);
    const forget = (): void => {
      if (known.peek(digest) === owner) known.delete(digest);
    };
    owner.then((found) => found === undefined && forget(), forget);
    return owner;
  };
}
