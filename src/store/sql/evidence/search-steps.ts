import { setImmediate } from 'node:timers/promises';
import { type ListedPlace, PAGE_BYTES, type PageOfPlaces, sumBytes } from './evidence-filter.js';

/** A part of the order, from `low` (inclusive) to `high` (exclusive), with at most `size` records of the account. */
export interface Window {
  readonly low: number;
  readonly high: number;
  readonly size: number;
}

/** The records found, newest first, in a window that was searched down to `low`. */
export interface Found {
  readonly places: readonly ListedPlace[];
  readonly low: number;
}

/** Time for which a search has kept a thread busy that others need, milliseconds. */
export interface SearchClock {
  /** All of it so far. */
  spent(): number;
  /** Its longest step since this was asked last. */
  longest(): number;
}

export interface SearchSteps {
  /** Finds the start of a window of `size` records below `high`; 0 at the end. */
  lowOf(high: number, size: number): Promise<number>;
  /** At most `limit` of what is there. It may end before `low` where `isOver` says that the time is up. */
  search(window: Window, limit: number, isOver: () => boolean): Promise<Found>;
  /** Given where the steps run on this thread; else the time that a window takes counts. */
  readonly clock?: SearchClock | undefined;
  /** Milliseconds after which a search returns a page with the results so far and the place to continue from. Default 120. */
  readonly budgetMs?: number | undefined;
}

const FIRST_WINDOW = 2_000;
const LAST_WINDOW = 64_000;
/** Windows grow while they take less than the first, and shrink where they take more than the second, milliseconds. */
const PACE = { own: [2, 5], other: [15, 40] } as const;
const BUDGET_MS = 120;
const noId = `ev_${'0'.repeat(24)}`;

/** A search as a row of short queries, newest first: no text, however it is chosen, makes a long one. */
export async function searchInSteps(steps: SearchSteps, from: number, limit: number): Promise<PageOfPlaces> {
  const { clock, budgetMs = BUDGET_MS } = steps;
  const [quick, slow] = clock === undefined ? PACE.other : PACE.own;
  const places: ListedPlace[] = [];
  const started = performance.now();
  const isOver = (): boolean => (clock?.spent() ?? performance.now() - started) > budgetMs;
  let size = FIRST_WINDOW;
  let high = from;
  for (;;) {
    const before = performance.now();
    const low = await steps.lowOf(high, size);
    const found = await steps.search({ low, high, size }, limit - places.length, isOver);
    places.push(...found.places);
    if (places.length >= limit) return { places: places.slice(0, limit), stoppedAt: null };
    high = found.low;
    if (high === 0) return { places, stoppedAt: null };
    if (isOver() || sumBytes(places) > PAGE_BYTES) return { places, stoppedAt: { seq: high, id: noId } };
    const took = clock?.longest() ?? performance.now() - before;
    if (took < quick) size = Math.min(LAST_WINDOW, size * 4);
    else if (took > slow) size = Math.max(FIRST_WINDOW, size / 2);
    // The calls that are screened meanwhile have their turn.
    await setImmediate();
  }
}
