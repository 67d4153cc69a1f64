import { setImmediate, setTimeout } from 'node:timers/promises';
import { createFairQueue } from '../../workers/fair-queue.js';

/** UTF-16 code units, or bytes: what is longer takes this thread for more than a millisecond or two. */
export const LONG: number = 32 * 1024;

/** Runs a step of a tenant's long work on this thread, so that short work goes on beside it. `size`: its rough cost. */
export type LongWork = <T>(tenant: string, size: number, step: () => T) => Promise<T>;

interface Step {
  readonly tenant: string;
  readonly size: number;
  readonly run: () => void;
}

/** One step at a time, the tenants in turn, and after each step a rest as long as the step: half of the thread is for others. */
export function createLongWork(): LongWork {
  const waiting = createFairQueue<Step>({
    tenantOf: ({ tenant }) => tenant,
    costOf: ({ size }) => size,
    isLong: () => false,
  });
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    await setImmediate();
    for (let step = waiting.shift(() => true); step !== undefined; step = waiting.shift(() => true)) {
      const started = performance.now();
      step.run();
      // The rest is at least a turn of the event loop, and takes in what came meanwhile.
      await setTimeout(performance.now() - started);
    }
    isRunning = false;
  }

  return (tenant, size, step) =>
    new Promise((resolve, reject) => {
      const run = (): void => {
        try {
          resolve(step());
        } catch (error) {
          reject(error);
        }
      };
      waiting.push({ tenant, size, run });
      if (!isRunning) void runAll();
    });
}
