import { ModelError } from '../../engine/errors.js';
import type { Clock } from '../../engine/ports.js';

/**
 * Lets work through to a few places, one at a time each, in the order it came. Rejects with
 * `MODEL_TIMEOUT` after `timeoutMs`; work that has begun then still keeps its place until it ends.
 */
export type Semaphore<Place> = <T>(work: (place: Place) => Promise<T>, timeoutMs: number) => Promise<T>;

/** Makes a semaphore in front of these places. */
export function createSemaphore<Place>(places: readonly Place[], clock: Clock): Semaphore<Place> {
  const free: Place[] = [...places];
  const waiting: ((place: Place) => void)[] = [];

  function leave(place: Place): void {
    const next = waiting.shift();
    if (next === undefined) free.push(place);
    else next(place);
  }

  return (work, timeoutMs) =>
    new Promise((resolve, reject) => {
      let late = false;
      const cancel = clock.after(timeoutMs, () => {
        late = true;
        reject(new ModelError('MODEL_TIMEOUT', 'the deadline passed before the window was scored'));
      });
      const enter = (place: Place): void => {
        if (late) {
          leave(place);
          return;
        }
        work(place)
          .then(resolve, reject)
          .finally(() => {
            cancel();
            leave(place);
          });
      };
      if (free.length === 0) waiting.push(enter);
      else enter(free.shift() as Place);
    });
}
