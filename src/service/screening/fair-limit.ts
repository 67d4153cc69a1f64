import { setTimeout } from 'node:timers/promises';
import { createKeyedLimit } from '../../engine/limit.js';
import type { LongWork } from '../../store/store.js';
import { OverloadedError } from '../../workers/calls.js';
import { FairQueue } from '../../workers/fair-queue.js';
import { callerLeft } from '../http/http-error.js';

/** A piece of work that waits for its turn. */
export interface WorkOptions {
  /** Its rough cost: tenants are served by it. Default 1. */
  readonly cost?: number | undefined;
  /** Of the caller: work that still waits when it leaves is dropped, with an `HttpError`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a tenant's work when its turn comes. Rejects with an `OverloadedError` where too much of the
 * tenant's waits.
 */
export type FairLimit = <T>(tenant: string, work: () => Promise<T>, options?: WorkOptions) => Promise<T>;

export interface FairLimitOptions {
  /** Pieces of work that run at once, of all tenants. */
  readonly atOnce: number;
  /** Pieces of work of one tenant that may run or wait. Default: no bound. */
  readonly perTenant?: number | undefined;
  /** Whether a rest as long as the work follows it, so that the thread has time for others. Default: where somebody waits. */
  readonly rest?: 'never' | 'always' | undefined;
}

interface Waiting {
  readonly tenant: string;
  readonly cost: number;
  readonly begin: () => void;
}

/** Longest rest after a piece of work, milliseconds. */
const MAX_REST_MS = 100;

/** Makes a limit on how much runs at once; waiting tenants are served by the cost of what they had before. */
export function createFairLimit({ atOnce, perTenant = Number.POSITIVE_INFINITY, rest }: FairLimitOptions): FairLimit {
  const waiting = new FairQueue<Waiting>({ tenantOf: ({ tenant }) => tenant, costOf: ({ cost }) => cost });
  const held = createKeyedLimit(perTenant);
  let running = 0;

  function next(): void {
    if (running >= atOnce) return;
    const one = waiting.shift();
    if (one === undefined) return;
    running += 1;
    one.begin();
  }

  async function end(tookMs: number): Promise<void> {
    if (rest === 'always') await setTimeout(tookMs);
    else if (rest === undefined && waiting.size > 0) await setTimeout(Math.min(MAX_REST_MS, tookMs));
    running -= 1;
    next();
  }

  function wait(tenant: string, { cost = 1, signal }: WorkOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.remove(one);
        reject(callerLeft());
      };
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const one: Waiting = { tenant, cost, begin };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.push(one);
      // So that all that comes in the same moment is compared.
      queueMicrotask(next);
    });
  }

  return async (tenant, work, options = {}) => {
    const leave = held.enter(tenant);
    if (leave === undefined) throw new OverloadedError('too many requests of this account are in progress');
    try {
      await wait(tenant, options);
      const started = performance.now();
      try {
        return await work();
      } finally {
        void end(performance.now() - started);
      }
    } finally {
      leave();
    }
  };
}

/** One step at a time, the tenants in turn, and after each step a rest as long as the step: half of the thread is for others. */
export function createLongWork(): LongWork {
  const limit = createFairLimit({ atOnce: 1, rest: 'always' });
  return (tenant, cost, step) => limit(tenant, async () => step(), { cost });
}
