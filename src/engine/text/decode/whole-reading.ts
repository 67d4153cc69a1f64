import type { Rewritten } from '../rewrite.js';

/** A reading of the whole text, as long as the text. */
export interface WholeReading {
  readonly transform: string;
  readonly make: () => Rewritten;
}
