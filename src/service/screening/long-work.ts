import { setImmediate, setTimeout } from 'node:timers/promises';
import type { LongWork } from '../../store/store.js';
import { createFairQueue } from '../../workers/fair-queue.js';

interface Step {
  readonly tenant: string;
  readonly size: number;
  /** Settles when the step ends, whether it succeeded or failed. */
  readonly run: () => Promise<unknown> | undefined;
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
      await step.run();
      // The rest is at least a turn of the event loop, and takes in what came meanwhile.
      await setTimeout(performance.now() - started);
    }
    isRunning = false;
  }

  return (tenant, size, step) =>
    new Promise((resolve, reject) => {
      const run = (): Promise<unknown> | undefined => {
        try {
          const result = step();
          resolve(result);
          return result instanceof Promise ? result.catch(() => undefined) : undefined;
        } catch (error) {
          reject(error);
          return undefined;
        }
      };
      waiting.push({ tenant, size, run });
      if (!isRunning) void runAll();
    });
}
