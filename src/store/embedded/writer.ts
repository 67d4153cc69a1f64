import type { CountedRow } from '../sql/evidence-row.js';
import type { Charge } from '../usage-store.js';

/** What is written on the way of a call: on this thread or on one of its own. */
export interface Writer {
  /** Counts a call or refuses it; what it says outlives this process. */
  charge(accountId: string, at: number): Promise<Charge>;
  /** Durable when it resolves. @throws StoreError `STORE_CONFLICT` where the id is there already */
  append(row: CountedRow): Promise<void>;
  /** Deletes up to `limit` of an account's records before a place in the order; gives their number. */
  deleteBefore(accountId: string, before: number, limit: number): Promise<number>;
  /** Keeps commits back while `work` runs a transaction on another connection. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** What keeps it from writing now, one line each. */
  problems(): readonly string[];
  /** Resolves when all that was asked is durable; later work is refused. */
  close(): Promise<void>;
}

/** What a writer is made of. */
export interface WriterParts {
  /** The database's file, with its schema up to date. */
  readonly file: string;
  /** Told when the disk is full. */
  readonly onFull: () => void;
}
