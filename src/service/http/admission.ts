import { HttpError } from './http-error.js';

/** A bound on the calls that are under way at once. */
export interface Admission {
  /** Takes a place; the function returned gives it back, however often it is called. @throws HttpError 503 */
  enter(): () => void;
  readonly underWay: () => number;
  /** Resolves when nobody holds a place any more. */
  drained(): Promise<void>;
}

/** At most `limit` calls at once: one more is refused before it costs anything. */
export function createAdmission(limit: number): Admission {
  let underWay = 0;
  let waiting: (() => void)[] = [];
  return {
    enter() {
      if (underWay >= limit) throw new HttpError(503, 'The service is overloaded; try again in a moment.');
      underWay++;
      let left = false;
      return () => {
        if (left) return;
        left = true;
        underWay--;
        if (underWay > 0) return;
        for (const resolve of waiting) resolve();
        waiting = [];
      };
    },
    underWay: () => underWay,
    drained: () => (underWay === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
