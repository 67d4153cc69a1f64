import { randomFillSync } from 'node:crypto';

const ID_BYTES = 12;
/** Asking the system for random bytes costs more than all the rest of a short scan: many ids' worth at a time. */
const pool = Buffer.alloc(ID_BYTES * 128);
let used: number = pool.length;

/** A fresh evidence id: `ev_` and 24 lower-case hex digits, 96 random bits. */
export function newEvidenceId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return `ev_${pool.toString('hex', used - ID_BYTES, used)}`;
}
