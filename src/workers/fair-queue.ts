/** Items that wait, each of a tenant. */
export interface FairQueue<Item> {
  push(item: Item): void;
  /** Takes out the next item that `fits`, of the tenant that was served least; undefined where none does. */
  shift(fits: (item: Item) => boolean): Item | undefined;
  /** Takes out the item that `is` meant, wherever it stands. */
  remove(is: (item: Item) => boolean): void;
  /** Takes out all. */
  drain(): readonly Item[];
  size(): number;
}

/** Facts that a queue needs of an item. */
export interface FairQueueTerms<Item> {
  readonly tenantOf: (item: Item) => string;
  readonly costOf: (item: Item) => number;
  /** True for an item that others of its tenant may pass while it doesn't fit. */
  readonly isLong: (item: Item) => boolean;
}

interface Tenant<Item> {
  readonly short: Item[];
  readonly long: Item[];
  /** Cost of what was served so far, from a start that all tenants share. */
  served: number;
}

/**
 * Start-time fair queueing: among the tenants the one whose items cost least so far, and each tenant's items in their order.
 * A tenant that comes back has no credit for the time it was away.
 *
 * @see Goyal, Vin, Cheng: Start-time Fair Queueing (SIGCOMM 1996)
 */
export function createFairQueue<Item>({ tenantOf, costOf, isLong }: FairQueueTerms<Item>): FairQueue<Item> {
  const tenants = new Map<string, Tenant<Item>>();
  /** Start tag of the item that was served last. */
  let virtualTime = 0;
  let size = 0;

  function take(tenant: Tenant<Item>, items: Item[]): Item {
    const item = items.shift() as Item;
    virtualTime = Math.max(virtualTime, tenant.served);
    tenant.served += costOf(item);
    left(1);
    return item;
  }

  /** When the queue is empty, all tenants start equal again. */
  function left(items: number): void {
    size -= items;
    if (size === 0) tenants.clear();
  }

  return {
    push(item) {
      const name = tenantOf(item);
      let tenant = tenants.get(name);
      if (tenant === undefined) {
        tenant = { short: [], long: [], served: virtualTime };
        tenants.set(name, tenant);
      } else if (tenant.short.length + tenant.long.length === 0) {
        tenant.served = Math.max(tenant.served, virtualTime);
      }
      (isLong(item) ? tenant.long : tenant.short).push(item);
      size += 1;
    },
    shift(fits) {
      const waiting = [...tenants.values()].filter(({ short, long }) => short.length + long.length > 0);
      if (waiting.length > 1) waiting.sort((a, b) => a.served - b.served);
      for (const tenant of waiting) {
        for (const items of [tenant.short, tenant.long]) {
          const [first] = items;
          if (first !== undefined && fits(first)) return take(tenant, items);
        }
      }
      return undefined;
    },
    remove(is) {
      for (const { short, long } of tenants.values()) {
        for (const items of [short, long]) {
          const at = items.findIndex(is);
          if (at < 0) continue;
          items.splice(at, 1);
          left(1);
          return;
        }
      }
    },
    drain() {
      const items = [...tenants.values()].flatMap(({ short, long }) => [...short, ...long]);
      left(size);
      return items;
    },
    size: () => size,
  };
}
