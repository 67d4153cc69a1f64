import { callerLeft, HttpError } from './http-error.js';

/** The place of a call among those in flight. */
export interface Place {
  /**
   * To be asked once, before the work on a short call: undefined where it may begin, else a promise of its turn. The promise rejects
   * where the call leaves first.
   */
  begin(): Promise<void> | undefined;
  /** Gives the place back, however often it is called. */
  leave(): void;
}

export interface AdmissionLimits {
  /** Calls in flight at once. */
  readonly calls: number;
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
  readonly id: string;
  underWay: number;
  /** Short calls that had their turn. */
  working: number;
  /** Short calls that wait for it, the oldest first. */
  readonly waiting: Set<() => void>;
}

/**
 * A bound on the calls in flight, and the accounts' shares in the work on short ones. One call too many is refused before it costs
 * anything. While other accounts have calls, an account's short calls beyond its share wait: all that are worked on in a turn of
 * the event loop are answered together, so everybody would wait for them. Long calls take turns of their own (`LongTexts`).
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #accounts = new Map<string, Account>();
  #all = 0;
  /** The account whose calls ended last. */
  #last = { id: '', at: Number.NEGATIVE_INFINITY };

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Takes a place for a call of an account. @throws HttpError 503 */
  enter(id: string): Place {
    const { calls, callsPerAccount } = this.#limits;
    if (this.#all >= calls) throw new HttpError(503, 'The service is overloaded; try again in a moment.');
    const account = this.#accounts.get(id) ?? { id, underWay: 0, working: 0, waiting: new Set() };
    if (account.underWay >= callsPerAccount)
      throw new HttpError(503, 'Too many calls of this account are in progress; try again in a moment.');
    this.#accounts.set(id, account);
    this.#all += 1;
    account.underWay += 1;
    return this.#placeIn(account);
  }

  #share(): number {
    const { calls, now } = this.#limits;
    const isBack = this.#accounts.has(this.#last.id);
    const active = this.#accounts.size + (!isBack && now() - this.#last.at < STILL_ACTIVE_MS ? 1 : 0);
    return active < 2 ? calls : Math.max(LEAST_SHARE, Math.floor(SHARED / active));
  }

  #placeIn(account: Account): Place {
    let hasLeft = false;
    let isWorking = false;
    let giveUp: (() => void) | undefined;
    const begin = (): void => {
      isWorking = true;
      account.working += 1;
    };
    return {
      begin: () => {
        if (hasLeft) return Promise.reject(callerLeft());
        if (account.waiting.size === 0 && account.working < this.#share()) {
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
            if (account.waiting.delete(start)) reject(callerLeft());
          };
        });
      },
      leave: () => {
        if (hasLeft) return;
        hasLeft = true;
        giveUp?.();
        if (isWorking) account.working -= 1;
        this.#leave(account);
      },
    };
  }

  #leave(account: Account): void {
    this.#all -= 1;
    account.underWay -= 1;
    if (account.underWay === 0) {
      this.#accounts.delete(account.id);
      this.#last = { id: account.id, at: this.#limits.now() };
      return;
    }
    if (account.waiting.size === 0) return;
    const most = this.#share();
    for (const start of account.waiting) {
      if (account.working >= most) break;
      account.waiting.delete(start);
      start();
    }
  }
}
