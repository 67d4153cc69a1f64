import { StoreError } from './store-error.js';

/** Collects requests while a write is in progress, and writes them as one. */
export interface Batcher<I, O> {
  add(item: I): Promise<O>;
  /** Resolves when nothing waits; later items are refused. */
  close(): Promise<void>;
}

interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (value: O | Promise<O>) => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds of a batcher. */
export interface BatcherLimits {
  /** Writes that overlap. */
  readonly lanes: number;
  /** Items of one write. Default: no bound. */
  readonly mostInOne?: number | undefined;
}

/**
 * `write` gives one result for each item, in order: together, where an `Error` rejects that item alone, or a promise for
 * each. A write ends with the last of them.
 */
export function openBatcher<I, O>(
  write: (items: readonly I[]) => Promise<readonly (O | Error)[]> | readonly Promise<O>[],
  { lanes, mostInOne = Number.POSITIVE_INFINITY }: BatcherLimits,
): Batcher<I, O> {
  let waiting: Waiting<I, O>[] = [];
  let underWay = 0;
  let planned = false;
  let closed = false;
  let whenIdle: (() => void) | undefined;

  const send = async (batch: readonly Waiting<I, O>[]): Promise<void> => {
    try {
      const writing = write(batch.map(({ item }) => item));
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
  };

  const flush = (): void => {
    planned = false;
    while (underWay < lanes && waiting.length > 0) {
      const batch = waiting.slice(0, mostInOne);
      waiting = waiting.slice(batch.length);
      underWay += 1;
      void send(batch).then(() => {
        underWay -= 1;
        plan();
      });
    }
    if (underWay === 0 && waiting.length === 0) whenIdle?.();
  };

  const plan = (): void => {
    if (planned) return;
    planned = true;
    setImmediate(flush);
  };

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        if (closed) {
          reject(new StoreError('STORE_CLOSED', 'the store is closed'));
          return;
        }
        waiting.push({ item, resolve, reject });
        plan();
      }),
    close() {
      closed = true;
      return new Promise((resolve) => {
        whenIdle = resolve;
        plan();
      });
    },
  };
}
