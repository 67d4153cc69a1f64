/** How far ahead work may run. */
export interface PrefetchBounds {
  readonly items: number;
  /** Of the sizes that `sizeOf` gives, together; a single item may have more. */
  readonly size: number;
}

/**
 * Begins work on the items of a source before the results are asked for, and gives the results in the source's
 * order, each as soon as it and all before it are there, also while the source has nothing new. Work that rejects
 * ends it at its turn.
 */
export async function* orderedMap<Item, Result>(
  source: AsyncIterable<Item>,
  begin: (item: Item) => Promise<Result>,
  sizeOf: (item: Item) => number,
  bounds: PrefetchBounds,
): AsyncGenerator<Result> {
  const underWay: { readonly result: Promise<Result>; readonly size: number }[] = [];
  let size = 0;
  let ended = false;
  let stopped = false;
  let failure: { readonly thrown: unknown } | undefined;
  let wakeReader = (): void => {};
  let wakeWriter = (): void => {};

  async function read(): Promise<void> {
    for await (const item of source) {
      const own = sizeOf(item);
      while (!stopped && underWay.length > 0 && (underWay.length >= bounds.items || size + own > bounds.size))
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
