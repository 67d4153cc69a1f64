import { useEffect, useState } from 'preact/hooks';
import type { RecordPage } from '../ports.js';
import { callApi } from './call-api.js';
import { type Load, useLoad } from './hooks.js';

// The list of records that the reader goes through: page by page in the list itself, and record by record beside it.

/** A page that was loaded. Only ids are kept. */
interface SeenPage {
  /** Its start; null at the newest record. */
  readonly cursor: string | null;
  /** Newest first. */
  readonly ids: readonly string[];
  /** Start of the page after it; null at the oldest record. */
  readonly next: string | null;
}

interface SeenList {
  /** Its heading and address, for the way back. */
  readonly title: string;
  readonly href: string;
  /** Its filters, as the API takes them. */
  readonly query: string;
  /** From the newest, without gaps. */
  readonly pages: readonly SeenPage[];
  /** The record opened last. */
  readonly record?: string;
  /** From where a record was opened: the page's number, 1 and up, and how far it was scrolled, in CSS pixels. */
  readonly left?: { readonly number: number; readonly top: number };
}

const noList: SeenList = { title: 'Evidence', href: '#/evidence', query: '', pages: [] };
const seen: { list: SeenList } = { list: noList };

/** Forgets the list, which belongs to one account. */
export function forgetList(): void {
  seen.list = noList;
}

/** A list of one page that isn't the evidence list. */
export function rememberList(title: string, href: string, ids: readonly string[]): void {
  seen.list = { title, href, query: '', pages: [{ cursor: null, ids, next: null }] };
}

/** Keeps a page of the evidence, and those after it while they still follow on it. */
function rememberPage(query: string, number: number, page: SeenPage): void {
  const href = query === '' ? '#/evidence' : `#/evidence?${query}`;
  const list = seen.list.href === href ? seen.list : { ...noList, href, query };
  const after = list.pages[number]?.cursor === page.next ? list.pages.slice(number) : [];
  seen.list = { ...list, pages: [...list.pages.slice(0, number - 1), page, ...after] };
}

/** Notes from where in the evidence a record is opened. */
export function leaveList(number: number): void {
  seen.list = { ...seen.list, left: { number, top: window.scrollY } };
}

/** The page's number that an entry of the browser's history stands for, 1 and up. */
function pageOfEntry(): number | undefined {
  const entry: unknown = history.state;
  return typeof entry === 'object' && entry !== null && 'page' in entry && typeof entry.page === 'number'
    ? entry.page
    : undefined;
}

/** Goes back to the list, to the page with this record. Back in the browser leads to the page that it left. */
function returnTo(event: MouseEvent, href: string, page: number): void {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  history.pushState({ page }, '', href);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

export interface Paging extends Load<RecordPage> {
  /** The page's number, 1 and up. */
  readonly number: number;
  /** Undefined at the newest page. */
  readonly newer: (() => void) | undefined;
  /** Undefined at the oldest. */
  readonly older: (() => void) | undefined;
  /** Whether a search has found nothing so far and continues on its own. */
  readonly searching: boolean;
  readonly stop: () => void;
}

/** Starts of the pages of one list, up to the one shown. */
interface Place {
  readonly query: string;
  readonly cursors: readonly (string | null)[];
  readonly stopped: boolean;
  /** The reader comes back to it from a record. */
  readonly isReturn?: boolean;
}

/** Finds the start of the list: the page that the reader comes back to, or the newest. */
function startOf(query: string): Place {
  const page = pageOfEntry();
  const { list } = seen;
  const cursors = list.pages.slice(0, page).map(({ cursor }) => cursor);
  return page !== undefined && list.query === query && list.href.startsWith('#/evidence') && cursors.length === page
    ? { query, cursors, stopped: false, isReturn: true }
    : { query, cursors: [null], stopped: false };
}

/**
 * Pages of the evidence that a query asks for. The service ends a step of a search after a moment, found something or not: while a
 * page is empty and there is more to look through, the next step follows.
 */
export function usePaging(query: URLSearchParams): Paging {
  const key = query.toString();
  const [kept, setPlace] = useState<Place>(() => startOf(key));
  const place = kept.query === key ? kept : { query: key, cursors: [null], stopped: false };
  const cursor = place.cursors.at(-1) ?? null;
  const number = place.cursors.length;
  const load = useLoad<RecordPage>(listPath(key, cursor));
  const { value, stale } = load;
  const next = value?.next ?? null;
  const isEmpty = value?.records.length === 0 && next !== null;
  const go = (cursors: Place['cursors'], stopped = false): void => setPlace({ query: key, cursors, stopped });
  const before = place.cursors.slice(0, -1);
  useEffect(() => {
    if (!isEmpty) return;
    const further = { query: key, cursors: [...before, next], stopped: false };
    // It may have been stopped between the response and now.
    setPlace((now) => (now.query === key && now.stopped ? now : further));
  }, [value]);
  // Back in the browser leads to this page.
  useEffect(() => history.replaceState({ page: number }, ''), [key, number]);
  useEffect(() => {
    if (value === undefined || stale || isEmpty) return;
    rememberPage(key, number, { cursor, ids: value.records.map(({ id }) => id), next });
    if (place.isReturn) showPlace(number);
  }, [value, stale]);
  return {
    ...load,
    number,
    newer: before.length === 0 ? undefined : () => go(before),
    older: next === null ? undefined : () => go(isEmpty ? [...before, next] : [...place.cursors, next]),
    searching: isEmpty && !place.stopped,
    stop: () => go(place.cursors, true),
  };
}

function listPath(query: string, cursor: string | null): string {
  const asked = new URLSearchParams(query);
  if (cursor !== null) asked.set('cursor', cursor);
  return `/evidence?${asked}`;
}

function showPlace(number: number): void {
  const { left, record } = seen.list;
  if (left?.number === number) window.scrollTo(0, left.top);
  const link = document.querySelector<HTMLElement>(`.records a[href="#/evidence/${record}"]`);
  link?.focus({ preventScroll: true });
  link?.closest('tr')?.scrollIntoView({ block: 'nearest' });
}

/** The records before and after one in the list that the reader came from, and the way back to it. */
export function useNeighbours(id: string) {
  const [round, setRound] = useState(0);
  const [failedIn, setFailedIn] = useState<number>();
  const { list } = seen;
  const { pages } = list;
  const at = pages.findIndex(({ ids }) => ids.includes(id));
  const ids = pages.flatMap((page) => page.ids);
  const place = ids.indexOf(id);
  const isLast = place >= 0 && place === ids.length - 1 && (pages.at(-1)?.next ?? null) !== null;
  const again = (): void => setRound((it) => it + 1);
  useEffect(() => {
    if (place >= 0) seen.list = { ...seen.list, record: id };
    if (!isLast) return;
    let wanted = true;
    loadOlder(() => wanted).then(
      () => wanted && again(),
      () => wanted && setFailedIn(round),
    );
    return () => {
      wanted = false;
    };
  }, [round]);
  const known = place < 0 ? noList : list;
  return {
    title: known.title,
    href: known.href,
    onReturn:
      at < 0 || known.title !== noList.title ? undefined : (event: MouseEvent) => returnTo(event, known.href, at + 1),
    newer: ids[place - 1],
    older: place < 0 ? undefined : ids[place + 1],
    /** `running` while the page after this record is looked for; `failed` where that didn't work. */
    search: !isLast ? 'none' : failedIn === round ? 'failed' : 'running',
    again,
  };
}

/** Loads the page after the last one seen, in as many steps as a search for it takes. */
async function loadOlder(isWanted: () => boolean): Promise<void> {
  for (;;) {
    const { list } = seen;
    const last = list.pages.at(-1);
    if (last === undefined || last.next === null) return;
    const { records, next } = await callApi<RecordPage>('GET', listPath(list.query, last.next));
    // Another list, or another step for the same one, has come in between.
    if (!isWanted() || seen.list.pages.at(-1) !== last) return;
    const page = { cursor: last.next, ids: records.map(({ id }) => id), next };
    const pages = page.ids.length > 0 ? [...list.pages, page] : [...list.pages.slice(0, -1), { ...last, next }];
    seen.list = { ...seen.list, pages };
    if (page.ids.length > 0) return;
  }
}
