type Settled<T> = { readonly value: T } | { readonly error: unknown };

/** Runs `work` on each item, at most `width` at once, and gives the results in the items' order. */
export async function* orderedMap<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  width: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const underWay: Promise<Settled<Result>>[] = [];
  // Settled at once, so that a failure behind a slow one isn't an unhandled rejection meanwhile.
  const start = (item: Item): Promise<Settled<Result>> =>
    work(item).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
  for await (const item of items) {
    underWay.push(start(item));
    if (underWay.length >= width) yield await next();
  }
  while (underWay.length > 0) yield await next();

  async function next(): Promise<Result> {
    const settled = await (underWay.shift() as Promise<Settled<Result>>);
    if ('error' in settled) throw settled.error;
    return settled.value;
  }
}
