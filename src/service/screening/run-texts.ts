import { LRUCache } from 'lru-cache';
import type { Keep } from '../../evidence/evidence-record.js';
import type { RunText, RunTextLog } from '../../policy/index.js';
import type { RunStore } from '../../store/store.js';

/** Texts of runs that are kept in this process alone. */
export interface RunTextMemory {
  /** Oldest first. */
  read(accountId: string, runId: string): readonly RunText[];
  add(accountId: string, runId: string, text: RunText): void;
}

/** Runs of an account, and texts of a kind that each keeps here, and how long the last one is known, milliseconds. */
const MOST_RUNS = 4_096;
const MOST_TEXTS = 16;
const TEXT_MS = 12 * 60 * 60_000;

/**
 * Gives the texts of an account's runs. They are in the store if the account keeps its inputs whole. Else they are in `memory`, so that
 * another process doesn't know them: what masks look for may have been cut off with the rest of a text.
 */
export function runTextsOf(
  store: Pick<RunStore, 'readTexts' | 'addText'>,
  memory: RunTextMemory,
  { accountId, keep }: { readonly accountId: string; readonly keep: Keep },
): RunTextLog {
  if (keep !== 'whole')
    return {
      read: async (runId) => memory.read(accountId, runId),
      add: async (runId, text) => memory.add(accountId, runId, text),
    };
  return {
    read: (runId, name) => store.readTexts(accountId, runId, name),
    add: (runId, text) => store.addText(accountId, runId, text),
  };
}

/** Keeps texts of `most` characters. Where there are more, the account that has the most loses the run it used least lately. */
export function runTextMemory(most = 20_000_000): RunTextMemory {
  const ofAccounts = new Map<string, LRUCache<string, readonly RunText[]>>();
  return {
    read: (accountId, runId) => ofAccounts.get(accountId)?.get(runId) ?? [],
    add(accountId, runId, text) {
      const own =
        ofAccounts.get(accountId) ??
        new LRUCache({ max: MOST_RUNS, maxSize: most, sizeCalculation: lengthOf, ttl: TEXT_MS });
      ofAccounts.set(accountId, own);
      own.set(runId, withText(own.get(runId) ?? [], text));
      if (sizeOf(ofAccounts) <= most) return;
      for (const [id, one] of ofAccounts) {
        one.purgeStale();
        if (one.size === 0) ofAccounts.delete(id);
      }
      while (sizeOf(ofAccounts) > most) {
        // Of accounts that have as many, another one than this.
        const rest = [...ofAccounts.values()].filter((one) => one !== own);
        rest.reduce((largest, one) => (one.calculatedSize >= largest.calculatedSize ? one : largest), own).pop();
      }
    },
  };
}

function withText(texts: readonly RunText[], added: RunText): readonly RunText[] {
  const isSameKind = ({ kind }: RunText): boolean => kind === added.kind;
  const others = texts.filter((text) => !isSameKind(text) || text.name !== added.name);
  if (added.kind === 'read' && others.length < texts.length) return texts;
  const same = others.filter(isSameKind);
  return [...others.filter((text) => text !== same[0] || same.length < MOST_TEXTS), added];
}

/** At least 1, as an entry of a cache must have. */
function lengthOf(texts: readonly RunText[]): number {
  return texts.reduce((sum, { text, start = '', task = '' }) => sum + text.length + start.length + task.length, 1);
}

function sizeOf(ofAccounts: ReadonlyMap<string, LRUCache<string, readonly RunText[]>>): number {
  let kept = 0;
  for (const { calculatedSize } of ofAccounts.values()) kept += calculatedSize;
  return kept;
}
