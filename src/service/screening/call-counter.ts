import { LRUCache } from 'lru-cache';
import type { Charge } from '../../store/account-store.js';
import type { ScreeningStore } from './ports.js';

export interface CountedCall {
  /** Result of counting the call; undefined while it isn't: it is counted with its record, or alone. */
  readonly charge: Charge | undefined;
  /** Says that the call is counted from now on, with its record. False where it is counted already. */
  countWithRecord(): boolean;
  /** Called with the outcome once the record is stored. */
  counted(charge: Charge): void;
  /** Counts the call without a record; undefined where it is counted already. */
  countAlone(): Promise<Charge | undefined>;
}

/** Lets calls in by their account's quota. */
export interface CallCounter {
  /**
   * Counts a call of an account whose quota may not suffice. A call of any other account is let in, and counted in the same
   * commit as its record, which decides. So a quota is exact, and an ordinary call writes once.
   */
  enter(accountId: string, at: number): CountedCall | Promise<CountedCall>;
  /** Counts a call at once, whatever its account has left. */
  count(accountId: string, at: number): Promise<CountedCall>;
}

interface Known {
  /** Calls left when the store was asked last. */
  remaining: number;
  /** Calls admitted since then that are not counted yet. */
  uncounted: number;
}

const MAX_ACCOUNTS = 10_000;

/** Counts calls in a store. Other processes may also count, so a call that was admitted may still be refused. */
export function createCallCounter({ usage }: Pick<ScreeningStore, 'usage'>): CallCounter {
  const accounts = new LRUCache<string, Known>({ max: MAX_ACCOUNTS });

  const learn = (accountId: string, { remaining }: Charge): void => {
    const known = accounts.get(accountId);
    if (known === undefined) accounts.set(accountId, { remaining, uncounted: 0 });
    else known.remaining = remaining;
  };
  const charge = async (accountId: string, at: number): Promise<Charge> => {
    const counted = await usage.charge(accountId, at);
    learn(accountId, counted);
    return counted;
  };

  const count = async (accountId: string, at: number): Promise<CountedCall> => ({
    charge: await charge(accountId, at),
    countWithRecord: () => false,
    counted: () => undefined,
    countAlone: async () => undefined,
  });

  return {
    count,
    enter(accountId, at) {
      const known = accounts.get(accountId);
      if (known !== undefined && known.remaining > known.uncounted) {
        known.uncounted += 1;
        let waits = true;
        const countWithRecord = (): boolean => {
          const first = waits;
          waits = false;
          if (first) known.uncounted -= 1;
          return first;
        };
        return {
          charge: undefined,
          countWithRecord,
          counted: (counted) => learn(accountId, counted),
          countAlone: async () => (countWithRecord() ? charge(accountId, at) : undefined),
        };
      }
      return count(accountId, at);
    },
  };
}
