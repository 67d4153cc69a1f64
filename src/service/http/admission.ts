import { HttpError } from './http-error.js';

/** A bound on the calls in flight, and the accounts' shares in the work on short ones. */
export interface Admission {
  /** Takes a place for a call of an account. @throws HttpError 503 */
  enter(accountId: string): Place;
}

/** The place of a call among those in flight. */
export interface Place {
  /**
   * To be asked once, before the work on a short call: undefined where it may begin, else a promise of its turn. The promise rejects
   * where the call leaves first.
   */
  turn(): Promise<void> | undefined;
  /** Gives the place back, however often it is called. */
  leave(): void;
}

/** Bounds of an admission. */
export interface AdmissionLimits {
  /** Calls in flight at once. */
  readonly calls: number;
  /** Those of one account. */
  readonly callsPerAccount: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** Short calls that are worked on at once while several accounts have calls: the accounts' shares together. */
const SHARED = 32;
/** No account's share is smaller. */
const LEAST_SHARE = 8;
/** So long an account whose calls have ended counts as one that has calls, milliseconds. */
const STILL_ACTIVE_MS = 1_000;

interface Account {
  underWay: number;
  /** Short calls that had their turn. */
  working: number;
  /** Short calls that wait for it, the oldest first. */
  readonly waiting: Set<() => void>;
}

/**
 * One call too many is refused before it costs anything. While other accounts have calls, an account's short calls beyond its
 * share wait: all that are worked on in a turn of the event loop are answered together, so everybody would wait for them.
 * Long calls take turns of their own (`LongTexts`).
 */
export function createAdmission({ calls, callsPerAccount, now }: AdmissionLimits): Admission {
  const accounts = new Map<string, Account>();
  let all = 0;
  /** The account whose calls ended last. */
  let last = { id: '', at: Number.NEGATIVE_INFINITY };

  function share(): number {
    const isBack = accounts.has(last.id);
    const active = accounts.size + (!isBack && now() - last.at < STILL_ACTIVE_MS ? 1 : 0);
    return active < 2 ? calls : Math.max(LEAST_SHARE, Math.floor(SHARED / active));
  }

  function enter(accountId: string): Place {
    let account = accounts.get(accountId);
    if (all >= calls) throw new HttpError(503, 'The service is overloaded; try again in a moment.');
    if (account === undefined) {
      account = { underWay: 0, working: 0, waiting: new Set() };
      accounts.set(accountId, account);
    } else if (account.underWay >= callsPerAccount) {
      throw new HttpError(503, 'Too many calls of this account are in progress; try again in a moment.');
    }
    all += 1;
    account.underWay += 1;
    return placeIn(accountId, account);
  }

  function placeIn(accountId: string, account: Account): Place {
    let hasLeft = false;
    let isWorking = false;
    let giveUp: (() => void) | undefined;
    const begin = (): void => {
      isWorking = true;
      account.working += 1;
    };
    return {
      turn() {
        if (account.waiting.size === 0 && account.working < share()) {
          begin();
          return undefined;
        }
        return new Promise((resolve, reject) => {
          const start = (): void => {
            begin();
            resolve();
          };
          account.waiting.add(start);
          giveUp = () => {
            if (account.waiting.delete(start)) reject(new HttpError(503, 'The caller left before its turn.'));
          };
        });
      },
      leave() {
        if (hasLeft) return;
        hasLeft = true;
        all -= 1;
        account.underWay -= 1;
        giveUp?.();
        if (isWorking) account.working -= 1;
        if (account.underWay === 0) {
          accounts.delete(accountId);
          last = { id: accountId, at: now() };
          return;
        }
        if (account.waiting.size === 0) return;
        const most = share();
        for (const start of account.waiting) {
          if (account.working >= most) break;
          account.waiting.delete(start);
          start();
        }
      },
    };
  }

  return { enter };
}
