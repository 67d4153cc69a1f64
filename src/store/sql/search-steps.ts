import { setImmediate } from 'node:timers/promises';
import type { PageOfRows } from './evidence.js';
import type { EvidenceRow } from './tables.js';

/** How a database looks through a stretch of the order, from `low` (inclusive) to `high` (exclusive). */
export interface SearchSteps {
  /** Where a stretch of `size` records below `high` begins; 0 at the end. */
  lowOf(high: number, size: number): Promise<number>;
  /** What was found there, newest first, at most `limit`. */
  stretch(low: number, high: number, limit: number): Promise<readonly EvidenceRow[]>;
}

const firstWindow = 2_000;
const lastWindow = 256_000;
const quickMs = 15;
const slowMs = 40;
/** After so long a page is given with what was found and where to go on. */
const patienceMs = 150;
const noId = `ev_${'0'.repeat(24)}`;

/** A search as a row of short queries, newest first: no text, however it is chosen, makes a long one. */
export async function searchInSteps(steps: SearchSteps, from: number, limit: number): Promise<PageOfRows> {
  const rows: EvidenceRow[] = [];
  const started = performance.now();
  let window = firstWindow;
  let high = from;
  for (;;) {
    const before = performance.now();
    const low = await steps.lowOf(high, window);
    rows.push(...(await steps.stretch(low, high, limit - rows.length)));
    if (rows.length >= limit) return { rows: rows.slice(0, limit), stoppedAt: null };
    if (low === 0) return { rows, stoppedAt: null };
    high = low;
    const now = performance.now();
    if (now - started > patienceMs) return { rows, stoppedAt: { seq: low, id: noId } };
    if (now - before < quickMs) window = Math.min(lastWindow, window * 4);
    else if (now - before > slowMs) window = Math.max(firstWindow, window / 2);
    // The calls that are screened meanwhile have their turn.
    await setImmediate();
  }
}
