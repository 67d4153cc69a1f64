import { setTimeout } from 'node:timers/promises';
import type { LongWork } from '../../store/store.js';
import { createFairQueue } from '../../workers/fair-queue.js';
import { HttpError } from '../http/http-error.js';

/** A piece of work that waits for its turn. */
export interface TurnOptions {
  /** Its rough cost: tenants are served by it. Default 1. */
  readonly cost?: number | undefined;
  /** Of the caller: work that still waits when it leaves is dropped, with an `HttpError`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a tenant's work when its turn comes. Rejects with an `OverloadedError` where too much of the
 * tenant's waits.
 */
export type Turns = <T>(tenant: string, work: () => Promise<T>, options?: TurnOptions) => Promise<T>;

/** Bounds of turns. */
export interface TurnLimits {
  /** How many have their turn at once, of all tenants. */
  readonly atOnce: number;
  /** How many of one tenant may have it or wait for it. Default: no bound. */
  readonly perTenant?: number | undefined;
  /** Whether a rest as long as a turn follows it, so that the thread has time for others. Default: where somebody waits. */
  readonly rest?: 'never' | 'always' | undefined;
}

interface Waiting {
  readonly tenant: string;
  readonly cost: number;
  readonly begin: () => void;
}

/** A turn that took longer gives the thread no longer rest, milliseconds. */
const MAX_REST_MS = 100;

/** Gives turns to the tenants by the cost of what they had before. */
export function createTurns({ atOnce, perTenant = Number.POSITIVE_INFINITY, rest }: TurnLimits): Turns {
  const waiting = createFairQueue<Waiting>({
    tenantOf: ({ tenant }) => tenant,
    costOf: ({ cost }) => cost,
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

  async function end(tookMs: number): Promise<void> {
    if (rest === 'always') await setTimeout(tookMs);
    else if (rest === undefined && waiting.size() > 0) await setTimeout(Math.min(MAX_REST_MS, tookMs));
    running -= 1;
    next();
  }

  function wait(tenant: string, { cost = 1, signal }: TurnOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.remove((it) => it === one);
        reject(new HttpError(503, 'The caller left before its turn.'));
      };
      const one: Waiting = {
        tenant,
        cost,
        begin() {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.push(one);
      // Those of the same moment share it.
      queueMicrotask(next);
    });
  }

  return async (tenant, work, options = {}) => {
    const own = held.get(tenant) ?? 0;
    if (own >= perTenant)
      throw Object.assign(new Error('too many requests of this account are in progress'), { name: 'OverloadedError' });
    held.set(tenant, own + 1);
    try {
      await wait(tenant, options);
      const started = performance.now();
      try {
        return await work();
      } finally {
        void end(performance.now() - started);
      }
    } finally {
      const left = (held.get(tenant) ?? 1) - 1;
      if (left > 0) held.set(tenant, left);
      else held.delete(tenant);
    }
  };
}

/** One step at a time, the tenants in turn, and after each step a rest as long as the step: half of the thread is for others. */
export function createLongWork(): LongWork {
  const turns = createTurns({ atOnce: 1, rest: 'always' });
  return (tenant, cost, step) => turns(tenant, async () => step(), { cost });
}
