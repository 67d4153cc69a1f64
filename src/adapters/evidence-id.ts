import { randomFillSync } from 'node:crypto';

const RANDOM_BYTES = 7;
/** Asking the system for random bytes costs more than all the rest of a short scan: many ids' worth at a time. */
const pool = Buffer.alloc(RANDOM_BYTES * 256);
let used: number = pool.length;
let at = Number.NaN;
let prefix = '';

/**
 * A fresh evidence id: `ev_` and 24 lower-case hex digits, 11 of the time (milliseconds since 1970, until the year 2527)
 * and 13 random ones. Ids of one time lie together in an index: an insert doesn't touch a page of its own.
 */
export function newEvidenceId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += RANDOM_BYTES;
  const now = Date.now();
  if (now !== at) {
    at = now;
    prefix = `ev_${now.toString(16).padStart(11, '0')}`;
  }
  return prefix + pool.toString('hex', used - RANDOM_BYTES, used).slice(1);
}
