import type { Plans } from '../plans.js';
import type { CountedRow } from '../sql/evidence-row.js';
import type { StoreErrorCode } from '../store-error.js';

/** What a thread that writes is opened with. */
export interface WriterSettings {
  readonly file: string;
  readonly plans: Pick<Plans, 'all' | 'overagePackCalls'>;
}

/** One thing to write. `id` comes back with what came of it. */
export type WriterJob =
  | { readonly kind: 'charge'; readonly id: number; readonly accountId: string; readonly at: number }
  | { readonly kind: 'append'; readonly id: number; readonly row: CountedRow }
  | {
      readonly kind: 'delete';
      readonly id: number;
      readonly accountId: string;
      readonly before: number;
      readonly limit: number;
    }
  /** Answered once no commit is under way; there is none until the same `id` is released. */
  | { readonly kind: 'hold'; readonly id: number }
  | { readonly kind: 'release'; readonly id: number }
  | { readonly kind: 'close'; readonly id: number };

/** An error as it crosses threads. */
export interface WriterFailure {
  readonly message: string;
  /** The store's own code, or the database's. */
  readonly code: StoreErrorCode | string;
  /** Whether it is a `StoreError`. */
  readonly isOwn: boolean;
}

/** What came of a job. */
export type WriterAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failed: WriterFailure };

/** What the thread says. */
export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly failed: WriterFailure }
  | { readonly kind: 'full' }
  | { readonly kind: 'answers'; readonly answers: readonly WriterAnswer[] };
