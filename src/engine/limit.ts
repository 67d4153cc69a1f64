import type { Clock } from './ports.js';

/**
 * Runs work on a few places, one piece at a time on each, first come, first served. Rejects after `timeoutMs`;
 * work that has begun by then keeps its place until it ends.
 */
export type Limit<Place> = <T>(work: (place: Place) => Promise<T>, timeoutMs?: number) => Promise<T>;

/** Makes a limit in front of these places. `late`: the error of work that took too long. */
export function createLimit<Place>(
  places: readonly Place[],
  late?: { readonly clock: Clock; readonly error: () => Error },
): Limit<Place> {
  const free: Place[] = [...places];
  const waiting: ((place: Place) => Promise<void>)[] = [];

  function leave(place: Place): void {
    const next = waiting.shift();
    if (next === undefined) free.push(place);
    else void next(place);
  }

  return (work, timeoutMs) =>
    new Promise((resolve, reject) => {
      let isLate = false;
      const expire = (): void => {
        isLate = true;
        reject(late?.error());
      };
      const cancel = timeoutMs === undefined ? undefined : late?.clock.after(timeoutMs, expire);
      const enter = async (place: Place): Promise<void> => {
        try {
          if (!isLate) resolve(await work(place));
        } catch (error) {
          reject(error);
        } finally {
          cancel?.();
          leave(place);
        }
      };
      if (free.length === 0) waiting.push(enter);
      else void enter(free.shift() as Place);
    });
}

/** A limit on concurrent holders per key. */
export interface KeyedLimit {
  /** Takes a place of the key. Returns a function that gives it back, once; undefined if none is free. */
  enter(key: string): (() => void) | undefined;
  /** The keys without a free place. */
  readonly full: readonly string[];
}

/** Makes a limit of `most` holders for each key. */
export function createKeyedLimit(most: number): KeyedLimit {
  const inside = new Map<string, number>();
  return {
    enter(key) {
      const before = inside.get(key) ?? 0;
      if (before >= most) return undefined;
      inside.set(key, before + 1);
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        const left = (inside.get(key) ?? 1) - 1;
        if (left > 0) inside.set(key, left);
        else inside.delete(key);
      };
    },
    get full() {
      return [...inside].filter(([, count]) => count >= most).map(([key]) => key);
    },
  };
}

/** Bounds on the work under way. */
export interface PrefetchBounds<Item> {
  readonly items: number;
  /** The items' sizes together; a single item may be larger. Default: no bound. */
  readonly size?: { readonly max: number; readonly of: (item: Item) => number } | undefined;
}

/**
 * Bounded prefetch: starts work on the items ahead of the consumer and yields the results in the source's order, each
 * as soon as it and all before it are ready, even while the source is idle. A rejection surfaces at its turn.
 */
export async function* orderedMap<Item, Result>(
  source: Iterable<Item> | AsyncIterable<Item>,
  begin: (item: Item) => Promise<Result>,
  bounds: PrefetchBounds<Item>,
): AsyncGenerator<Result> {
  const underWay: { readonly result: Promise<Result>; readonly size: number }[] = [];
  const largest = bounds.size?.max ?? Number.POSITIVE_INFINITY;
  let size = 0;
  let ended = false;
  let stopped = false;
  let failure: { readonly thrown: unknown } | undefined;
  const reader = createWaiter();
  const writer = createWaiter();

  async function read(): Promise<void> {
    for await (const item of source) {
      const own = bounds.size?.of(item) ?? 0;
      while (!stopped && underWay.length > 0 && (underWay.length >= bounds.items || size + own > largest))
        await reader.wait();
      if (stopped) return;
      const result = begin(item);
      // Kept until its turn, so that it isn't an unhandled rejection meanwhile.
      result.catch(() => {});
      underWay.push({ result, size: own });
      size += own;
      writer.wake();
    }
  }

  // Not awaited at the end: a source that never gives anything again must not keep back whoever stops here.
  void read()
    .catch((thrown: unknown) => {
      failure = { thrown };
    })
    .then(() => {
      ended = true;
      writer.wake();
    });
  try {
    for (;;) {
      const first = underWay[0];
      if (first !== undefined) {
        const result = await first.result;
        underWay.shift();
        size -= first.size;
        reader.wake();
        yield result;
      } else if (ended) break;
      else await writer.wait();
    }
  } finally {
    stopped = true;
    reader.wake();
  }
  if (failure !== undefined) throw failure.thrown;
}

/** Suspends one function until another says that something has changed. */
function createWaiter(): { readonly wait: () => Promise<void>; readonly wake: () => void } {
  let wake = (): void => {};
  return {
    wait: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    wake: () => wake(),
  };
}
