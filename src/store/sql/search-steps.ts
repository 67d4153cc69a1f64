import { setImmediate } from 'node:timers/promises';
import type { PageOfRows } from './evidence.js';
import type { EvidenceRow } from './tables.js';

/** What was found, newest first, in a stretch that was looked through down to `low`. */
export interface Found {
  readonly rows: readonly EvidenceRow[];
  readonly low: number;
}

/** How a database looks through a stretch of the order, from `low` (inclusive) to `high` (exclusive). */
export interface SearchSteps {
  /** Where a stretch of `size` records below `high` begins; 0 at the end. */
  lowOf(high: number, size: number): Promise<number>;
  /** At most `limit` of what is there. It may end before `low` where `isOver` says that the time is up. */
  stretch(low: number, high: number, limit: number, isOver: () => boolean): Promise<Found>;
}

const firstWindow = 2_000;
const lastWindow = 64_000;
const quickMs = 15;
const slowMs = 40;
/** After so long a page is given with what was found and where to go on. */
const patienceMs = 120;
const noId = `ev_${'0'.repeat(24)}`;

/** A search as a row of short queries, newest first: no text, however it is chosen, makes a long one. */
export async function searchInSteps(steps: SearchSteps, from: number, limit: number): Promise<PageOfRows> {
  const rows: EvidenceRow[] = [];
  const started = performance.now();
  const isOver = (): boolean => performance.now() - started > patienceMs;
  let window = firstWindow;
  let high = from;
  for (;;) {
    const before = performance.now();
    const low = await steps.lowOf(high, window);
    const found = await steps.stretch(low, high, limit - rows.length, isOver);
    rows.push(...found.rows);
    if (rows.length >= limit) return { rows: rows.slice(0, limit), stoppedAt: null };
    if (found.low === 0) return { rows, stoppedAt: null };
    high = found.low;
    if (isOver()) return { rows, stoppedAt: { seq: high, id: noId } };
    const took = performance.now() - before;
    if (took < quickMs) window = Math.min(lastWindow, window * 4);
    else if (took > slowMs) window = Math.max(firstWindow, window / 2);
    // The calls that are screened meanwhile have their turn.
    await setImmediate();
  }
}
