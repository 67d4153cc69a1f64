import { setTimeout } from 'node:timers/promises';
import { createFairQueue } from '../../workers/fair-queue.js';

/** Runs a tenant's work when its turn comes. Rejects with an `OverloadedError` where too much of the tenant's waits. */
export type Turns = <T>(tenant: string, work: () => Promise<T>) => Promise<T>;

/** Bounds of turns. */
export interface TurnLimits {
  /** How many have their turn at once, of all tenants. */
  readonly atOnce: number;
  /** How many of one tenant may have it or wait for it. */
  readonly perTenant: number;
}

interface Waiting {
  readonly tenant: string;
  readonly begin: () => void;
}

/** A turn that took longer gives the thread no longer rest, milliseconds. */
const MAX_REST_MS = 100;

/** The tenants in turn; after each turn a rest as long as it took, so that the thread has time for others. */
export function createTurns({ atOnce, perTenant }: TurnLimits): Turns {
  const waiting = createFairQueue<Waiting>({
    tenantOf: ({ tenant }) => tenant,
    costOf: () => 1,
    isLong: () => false,
  });
  const held = new Map<string, number>();
  let running = 0;

  function next(): void {
    if (running >= atOnce) return;
    const one = waiting.shift(() => true);
    if (one === undefined) return;
    running += 1;
    one.begin();
  }

  async function rest(ms: number): Promise<void> {
    if (waiting.size() > 0) await setTimeout(Math.min(MAX_REST_MS, ms));
    running -= 1;
    next();
  }

  return async (tenant, work) => {
    const own = held.get(tenant) ?? 0;
    if (own >= perTenant)
      throw Object.assign(new Error('too many requests of this account are in progress'), { name: 'OverloadedError' });
    held.set(tenant, own + 1);
    await new Promise<void>((begin) => {
      waiting.push({ tenant, begin });
      next();
    });
    const started = performance.now();
    try {
      return await work();
    } finally {
      const left = (held.get(tenant) ?? 1) - 1;
      if (left > 0) held.set(tenant, left);
      else held.delete(tenant);
      void rest(performance.now() - started);
    }
  };
}
