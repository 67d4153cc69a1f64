import { HttpError } from './http-error.js';

/** A bound on the calls that are under way at once. */
export interface Admission {
  /** Takes a place for an account; the function returned gives it back, however often it is called. @throws HttpError 503 */
  enter(accountId: string): () => void;
}

/** At most `limit` calls at once, `perAccount` of one account: one more is refused before it costs anything. */
export function createAdmission(limit: number, perAccount: number): Admission {
  const underWay = new Map<string, number>();
  let all = 0;
  return {
    enter(accountId) {
      const own = underWay.get(accountId) ?? 0;
      if (all >= limit) throw new HttpError(503, 'The service is overloaded; try again in a moment.');
      if (own >= perAccount)
        throw new HttpError(503, 'Too many calls of this account are under way; try again in a moment.');
      all += 1;
      underWay.set(accountId, own + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        all -= 1;
        const rest = (underWay.get(accountId) ?? 1) - 1;
        if (rest > 0) underWay.set(accountId, rest);
        else underWay.delete(accountId);
      };
    },
  };
}
