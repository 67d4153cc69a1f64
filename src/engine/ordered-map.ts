/** How far ahead work may run. */
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
  let wakeReader = (): void => {};
  let wakeWriter = (): void => {};

  async function read(): Promise<void> {
    for await (const item of source) {
      const own = bounds.size?.of(item) ?? 0;
      while (!stopped && underWay.length > 0 && (underWay.length >= bounds.items || size + own > largest))
        await new Promise<void>((resolve) => {
          wakeReader = resolve;
        });
      if (stopped) return;
      const result = begin(item);
      // Kept until its turn, so that it isn't an unhandled rejection meanwhile.
      result.catch(() => {});
      underWay.push({ result, size: own });
      size += own;
      wakeWriter();
    }
  }

  // Not awaited at the end: a source that never gives anything again must not keep back whoever stops here.
  void read()
    .catch((thrown: unknown) => {
      failure = { thrown };
    })
    .then(() => {
      ended = true;
      wakeWriter();
    });
  try {
    for (;;) {
      const first = underWay[0];
      if (first !== undefined) {
        const result = await first.result;
        underWay.shift();
        size -= first.size;
        wakeReader();
        yield result;
      } else if (ended) break;
      else
        await new Promise<void>((resolve) => {
          wakeWriter = resolve;
        });
    }
  } finally {
    stopped = true;
    wakeReader();
  }
  if (failure !== undefined) throw failure.thrown;
}
