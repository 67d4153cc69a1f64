import { LRUCache } from 'lru-cache';

/** The last prompts of agents' sessions: the tasks of their tools' calls and results. */
export interface SessionPrompts {
  get(accountId: string, session: string): string | undefined;
  /** Undefined where the session's prompt doesn't count. */
  set(accountId: string, session: string, prompt: string | undefined): void;
}

/** How long a prompt is known, milliseconds. */
const PROMPT_MS = 12 * 60 * 60_000;

/** Keeps the prompts of `most` sessions. Where there are more, the account that has the most loses the one it used least lately. */
export function sessionPrompts(most = 5_000): SessionPrompts {
  const ofAccounts = new Map<string, LRUCache<string, string>>();
  return {
    get: (accountId, session) => ofAccounts.get(accountId)?.get(session),
    set(accountId, session, prompt) {
      const own =
        ofAccounts.get(accountId) ?? new LRUCache({ maxSize: most, sizeCalculation: () => 1, ttl: PROMPT_MS });
      // A copy, since a slice keeps the whole text alive.
      own.set(session, structuredClone(prompt));
      if (own.size === 0) ofAccounts.delete(accountId);
      else ofAccounts.set(accountId, own);
      if (count(ofAccounts) <= most) return;
      for (const [id, one] of ofAccounts) {
        one.purgeStale();
        if (one.size === 0) ofAccounts.delete(id);
      }
      if (count(ofAccounts) <= most) return;
      // Of accounts that have as many, another one than this.
      const others = [...ofAccounts.values()].filter((one) => one !== own);
      others.reduce((largest, one) => (one.size >= largest.size ? one : largest), own).pop();
    },
  };
}

function count(ofAccounts: ReadonlyMap<string, LRUCache<string, string>>): number {
  let kept = 0;
  for (const { size } of ofAccounts.values()) kept += size;
  return kept;
}
