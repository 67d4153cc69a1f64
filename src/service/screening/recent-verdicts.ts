import { LRUCache } from 'lru-cache';
import type { ExplainedVerdict } from '../../engine/explain.js';
import { TASK_LENGTH } from '../../engine/input.js';

/** Verdicts on texts that an account sent a moment ago. */
export interface RecentVerdicts {
  /** The verdict of that text; its id and time are those of the call that asked first. */
  get(accountId: string, text: string): ExplainedVerdict | undefined;
  put(accountId: string, text: string, verdict: ExplainedVerdict): void;
}

/** UTF-16 code units, those of a task at most: a longer text isn't kept. */
const MAX_LENGTH = TASK_LENGTH;

/** Keeps the verdicts used last. By account, so that response times reveal nothing about the texts of other accounts. */
export function recentVerdicts(most = 512): RecentVerdicts {
  const kept = new LRUCache<string, ExplainedVerdict>({ max: most });
  return {
    get: (accountId, text) => (text.length > MAX_LENGTH ? undefined : kept.get(`${accountId} ${text}`)),
    put(accountId, text, verdict) {
      if (text.length <= MAX_LENGTH) kept.set(`${accountId} ${text}`, verdict);
    },
  };
}
