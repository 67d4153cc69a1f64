import { randomFillSync } from 'node:crypto';

const RANDOM_BYTES = 7;
/** Requesting random bytes from the system costs more than the rest of a short scan, so it is done for many ids at once. */
const pool = Buffer.alloc(RANDOM_BYTES * 256);
let used: number = pool.length;
let at = Number.NaN;
let prefix = '';

/**
 * A fresh evidence id: `ev_` and 24 lower-case hex digits, 11 of the time (milliseconds since 1970, until the year 2527)
 * and 13 random ones. Ids made at the same time are adjacent in an index, so that inserts share its pages.
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
