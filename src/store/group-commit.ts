import { StoreError } from './store-error.js';

/**
 * Writes some items together: one result for each, in order, where an `Error` rejects that item alone; or a promise for each.
 * A write ends with the last of them.
 */
export type WriteBatch<I, O> = (items: readonly I[]) => Promise<readonly (O | Error)[]> | readonly Promise<O>[];

export interface GroupCommitLimits {
  /** Writes that overlap. */
  readonly lanes: number;
  /** Items of one write. Default: no bound. */
  readonly mostInOne?: number | undefined;
}

interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (value: O | Promise<O>) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects requests while a write is in progress, and writes them as one. */
export class GroupCommit<I, O> {
  readonly #write: WriteBatch<I, O>;
  readonly #lanes: number;
  readonly #mostInOne: number;
  #waiting: Waiting<I, O>[] = [];
  #underWay = 0;
  #isPlanned = false;
  #closing: Promise<void> | undefined;
  #whenIdle: (() => void) | undefined;

  constructor(write: WriteBatch<I, O>, { lanes, mostInOne = Number.POSITIVE_INFINITY }: GroupCommitLimits) {
    this.#write = write;
    this.#lanes = lanes;
    this.#mostInOne = mostInOne;
  }

  add(item: I): Promise<O> {
    if (this.#closing !== undefined) return Promise.reject(new StoreError('STORE_CLOSED', 'the store is closed'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#plan();
    });
  }

  /** Resolves when nothing waits; later items are refused. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#whenIdle = resolve;
      this.#plan();
    });
    return this.#closing;
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isPlanned = false;
    while (this.#underWay < this.#lanes && this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, this.#mostInOne);
      this.#waiting = this.#waiting.slice(batch.length);
      this.#underWay += 1;
      void this.#send(batch).then(() => {
        this.#underWay -= 1;
        this.#plan();
      });
    }
    if (this.#underWay === 0 && this.#waiting.length === 0) this.#whenIdle?.();
  }

  async #send(batch: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const writing = this.#write(batch.map(({ item }) => item));
      const results = writing instanceof Promise ? await writing : writing;
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i];
        if (result === undefined || result instanceof Error)
          reject(result ?? new StoreError('STORE_UNAVAILABLE', 'the database did not respond'));
        else resolve(result);
      }
      await Promise.allSettled(results);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
