import { setImmediate } from 'node:timers/promises';
import type { EvidenceRow } from '../tables.js';
import type { PageOfRows } from './evidence.js';

/** A part of the order, from `low` (inclusive) to `high` (exclusive), with at most `size` records of the account. */
export interface Window {
  readonly low: number;
  readonly high: number;
  readonly size: number;
}

/** What was found, newest first, in a window that was searched down to `low`. */
export interface Found {
  readonly rows: readonly EvidenceRow[];
  readonly low: number;
}

/** How a database searches a window. */
export interface SearchSteps {
  /** Where a window of `size` records below `high` begins; 0 at the end. */
  lowOf(high: number, size: number): Promise<number>;
  /** At most `limit` of what is there. It may end before `low` where `isOver` says that the time is up. */
  search(window: Window, limit: number, isOver: () => boolean): Promise<Found>;
}

const FIRST_WINDOW = 2_000;
const LAST_WINDOW = 64_000;
const QUICK_MS = 15;
const SLOW_MS = 40;
/** After so long a page is given with what was found and where to go on. */
const BUDGET_MS = 120;
const noId = `ev_${'0'.repeat(24)}`;

/** A search as a row of short queries, newest first: no text, however it is chosen, makes a long one. */
export async function searchInSteps(steps: SearchSteps, from: number, limit: number): Promise<PageOfRows> {
  const rows: EvidenceRow[] = [];
  const started = performance.now();
  const isOver = (): boolean => performance.now() - started > BUDGET_MS;
  let size = FIRST_WINDOW;
  let high = from;
  for (;;) {
    const before = performance.now();
    const low = await steps.lowOf(high, size);
    const found = await steps.search({ low, high, size }, limit - rows.length, isOver);
    rows.push(...found.rows);
    if (rows.length >= limit) return { rows: rows.slice(0, limit), stoppedAt: null };
    if (found.low === 0) return { rows, stoppedAt: null };
    high = found.low;
    if (isOver()) return { rows, stoppedAt: { seq: high, id: noId } };
    const took = performance.now() - before;
    if (took < QUICK_MS) size = Math.min(LAST_WINDOW, size * 4);
    else if (took > SLOW_MS) size = Math.max(FIRST_WINDOW, size / 2);
    // The calls that are screened meanwhile have their turn.
    await setImmediate();
  }
}
