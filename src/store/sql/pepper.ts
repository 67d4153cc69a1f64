import { createHmac, randomBytes } from 'node:crypto';
import type { NoteStore } from '../store.js';
import { StoreError } from '../store-error.js';

const checkName = 'pepper-check';

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
  const digest = createHmac('sha256', pepper).update(checkName).digest('hex');
  if ((await notes.claim(checkName, digest)) !== digest)
    throw new StoreError('STORE_SETTINGS', 'the pepper differs from the one that this database was set up with');
  return pepper;
}

/** A fresh pepper: 256 random bits, hex. */
export const newPepper = (): string => randomBytes(32).toString('hex');
