/** Facts that a queue needs of an item. */
export interface FairQueueTerms<Item> {
  readonly tenantOf: (item: Item) => string;
  readonly costOf: (item: Item) => number;
  /** True for an item that others of its tenant may pass while it doesn't fit. Default: none. */
  readonly isLong?: ((item: Item) => boolean) | undefined;
}

interface Tenant<Item> {
  readonly short: Item[];
  readonly long: Item[];
  /** Cost of what was served so far, from a start that all tenants share. */
  served: number;
}

/**
 * Items that wait, each of a tenant. Start-time fair queueing: among the tenants the one whose items cost least so far, and each
 * tenant's items in their order. A tenant that comes back has no credit for the time it was away.
 *
 * @see Goyal, Vin, Cheng: Start-time Fair Queueing (SIGCOMM 1996)
 */
export class FairQueue<Item> {
  readonly #terms: FairQueueTerms<Item>;
  readonly #tenants = new Map<string, Tenant<Item>>();
  /** Start tag of the item that was served last. */
  #virtualTime = 0;
  #size = 0;

  constructor(terms: FairQueueTerms<Item>) {
    this.#terms = terms;
  }

  get size(): number {
    return this.#size;
  }

  push(item: Item): void {
    const { tenantOf, isLong } = this.#terms;
    const name = tenantOf(item);
    let tenant = this.#tenants.get(name);
    if (tenant === undefined) {
      tenant = { short: [], long: [], served: this.#virtualTime };
      this.#tenants.set(name, tenant);
    } else if (tenant.short.length + tenant.long.length === 0) {
      tenant.served = Math.max(tenant.served, this.#virtualTime);
    }
    (isLong?.(item) === true ? tenant.long : tenant.short).push(item);
    this.#size += 1;
  }

  /** Takes out the next item that `fits`, of the tenant that was served least; undefined where none does. */
  shift(fits: (item: Item) => boolean = () => true): Item | undefined {
    const waiting = [...this.#tenants.values()].filter(({ short, long }) => short.length + long.length > 0);
    if (waiting.length > 1) waiting.sort((a, b) => a.served - b.served);
    for (const tenant of waiting) {
      for (const items of [tenant.short, tenant.long]) {
        const [first] = items;
        if (first === undefined || !fits(first)) continue;
        items.shift();
        this.#virtualTime = Math.max(this.#virtualTime, tenant.served);
        tenant.served += this.#terms.costOf(first);
        this.#left(1);
        return first;
      }
    }
    return undefined;
  }

  /** Takes out an item, wherever it stands. */
  remove(item: Item): void {
    for (const { short, long } of this.#tenants.values()) {
      for (const items of [short, long]) {
        const at = items.indexOf(item);
        if (at < 0) continue;
        items.splice(at, 1);
        this.#left(1);
        return;
      }
    }
  }

  /** Takes out all. */
  drain(): readonly Item[] {
    const items = [...this.#tenants.values()].flatMap(({ short, long }) => [...short, ...long]);
    this.#left(this.#size);
    return items;
  }

  /** When the queue is empty, all tenants start equal again. */
  #left(items: number): void {
    this.#size -= items;
    if (this.#size === 0) this.#tenants.clear();
  }
}
