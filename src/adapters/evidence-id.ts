import { randomBytes } from 'node:crypto';

/** A fresh evidence id: `ev_` and 24 lower-case hex digits, 96 random bits. */
export function newEvidenceId(): string {
  return `ev_${randomBytes(12).toString('hex')}`;
}
