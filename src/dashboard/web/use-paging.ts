import { useEffect, useState } from 'preact/hooks';
import type { RecordPage } from '../ports.js';
import { type Load, useLoad } from './use-load.js';

/** A list of records, a page at a time. */
export interface Paging extends Load<RecordPage> {
  /** The page's number, 1 and up. */
  readonly number: number;
  /** Undefined at the newest page. */
  readonly newer: (() => void) | undefined;
  /** Undefined at the oldest. */
  readonly older: (() => void) | undefined;
  /** Whether a search found nothing so far and goes on by itself. */
  readonly searching: boolean;
  /** Stops such a search. */
  readonly stop: () => void;
}

/** Where each page up to the one shown begins, of one list. */
interface Place {
  readonly query: string;
  readonly cursors: readonly (string | null)[];
  readonly stopped: boolean;
}

/**
 * Pages of the evidence that a query asks for. The service ends a step of a search after a moment, found something or not: while a
 * page is empty and there is more to look through, the next step follows.
 */
export function usePaging(query: URLSearchParams): Paging {
  const key = query.toString();
  const [kept, setPlace] = useState<Place>({ query: key, cursors: [null], stopped: false });
  const place = kept.query === key ? kept : { query: key, cursors: [null], stopped: false };
  const cursor = place.cursors.at(-1) ?? null;
  const asked = new URLSearchParams(query);
  if (cursor !== null) asked.set('cursor', cursor);
  const load = useLoad<RecordPage>(`/evidence?${asked}`);
  const { value } = load;
  const next = value?.next ?? null;
  const isEmpty = value?.records.length === 0 && next !== null;
  const go = (cursors: Place['cursors'], stopped = false): void => setPlace({ query: key, cursors, stopped });
  const before = place.cursors.slice(0, -1);
  useEffect(() => {
    if (!isEmpty) return;
    const further = { query: key, cursors: [...before, next], stopped: false };
    // It may have been stopped between the answer and now.
    setPlace((now) => (now.query === key && now.stopped ? now : further));
  }, [value]);
  return {
    ...load,
    number: place.cursors.length,
    newer: before.length === 0 ? undefined : () => go(before),
    older: next === null ? undefined : () => go(isEmpty ? [...before, next] : [...place.cursors, next]),
    searching: isEmpty && !place.stopped,
    stop: () => go(place.cursors, true),
  };
}
