import type { ExplainedVerdict } from '../../index.js';

/** Results of the rules for texts that an account sent a moment ago. */
export interface RecentVerdicts {
  /** The verdict of that text; its id and time are those of the call that asked first. */
  get(accountId: string, text: string): ExplainedVerdict | undefined;
  put(accountId: string, text: string, verdict: ExplainedVerdict): void;
}

/** UTF-16 code units: a longer text isn't kept. */
const MAX_LENGTH = 1_024;

/**
 * Keeps `2 * half` verdicts at most: when a half is full the older one is forgotten, which costs less than to forget one by
 * one. By account, so that response times reveal nothing about the texts of other accounts.
 */
export function recentVerdicts(half = 256): RecentVerdicts {
  let young = new Map<string, ExplainedVerdict>();
  let old = new Map<string, ExplainedVerdict>();
  const put: RecentVerdicts['put'] = (accountId, text, verdict) => {
    if (text.length > MAX_LENGTH) return;
    if (young.size >= half) {
      old = young;
      young = new Map();
    }
    young.set(`${accountId} ${text}`, verdict);
  };
  return {
    put,
    get(accountId, text) {
      if (text.length > MAX_LENGTH) return undefined;
      const name = `${accountId} ${text}`;
      const known = young.get(name);
      if (known !== undefined) return known;
      const late = old.get(name);
      if (late !== undefined) put(accountId, text, late);
      return late;
    },
  };
}
