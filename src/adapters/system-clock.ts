import type { Clock } from '../engine/ports.js';

/** The process's monotone clock and its timers. A timer that waits keeps the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
