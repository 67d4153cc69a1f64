import { useCallback, useEffect, useState } from 'preact/hooks';
import type { RecordPage } from '../ports.js';
import { callApi } from './call-api.js';

/** Where the reader is: the hash as path and query. */
export interface Route {
  /** Without slashes at the ends: `evidence/ev_…`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

function readHash(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path.replace(/\/$/, ''), query: new URLSearchParams(query) };
}

/** The current route. */
export function useRoute(): Route {
  const [route, setRoute] = useState(readHash);
  useEffect(() => {
    const follow = (): void => setRoute(readHash());
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  return route;
}

/** An action of the reader: whether it is running, and the error of the last run. */
export interface Action {
  readonly busy: boolean;
  readonly error: string | undefined;
  readonly run: (work: () => Promise<void>) => void;
}

export function useAction(): Action {
  const [state, setState] = useState<{ readonly busy: boolean; readonly error?: string }>({ busy: false });
  const run = (work: () => Promise<void>): void => {
    if (state.busy) return;
    setState({ busy: true });
    work().then(
      () => setState({ busy: false }),
      (error: unknown) =>
        setState({ busy: false, error: error instanceof Error ? error.message : 'Something failed.' }),
    );
  };
  return { busy: state.busy, error: state.error, run };
}

/** What a load has come to. */
export interface Load<T> {
  /** Of the path last loaded; while another path loads, of the one before. */
  readonly value: T | undefined;
  readonly error: string | undefined;
  /** The value is still that of another path. */
  readonly stale: boolean;
  readonly again: () => void;
}

/** Loads from the API when the path changes, on `again`, and every `everyMs` while the page is visible. */
export function useLoad<T>(path: string, everyMs?: number): Load<T> {
  const [state, setState] = useState<{ readonly path?: string; readonly value?: T; readonly error?: string }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    let wanted = true;
    callApi<T>('GET', path).then(
      (value) => wanted && setState({ path, value }),
      (error: unknown) => {
        if (!wanted) return;
        const message = error instanceof Error ? error.message : 'Something failed.';
        // What is shown stays when a refresh of it fails; the next one may go through.
        setState((now) => (now.path === path && now.value !== undefined && round > 0 ? now : { path, error: message }));
      },
    );
    return () => {
      wanted = false;
    };
  }, [path, round]);
  const again = useCallback(() => setRound((it) => it + 1), []);
  useEffect(() => {
    if (everyMs === undefined) return;
    const refresh = (): void => {
      if (document.visibilityState === 'visible') again();
    };
    const timer = setInterval(refresh, everyMs);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, [everyMs]);
  return { value: state.value, error: state.error, stale: state.path !== path, again };
}

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
    // It may have been stopped between the response and now.
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

/** A page of records that the reader has seen, for going from one record to the next. */
export interface ListSeen {
  readonly query: string;
  /** Newest first. */
  readonly ids: readonly string[];
}

const seen: { list: ListSeen } = { list: { query: '', ids: [] } };

export function rememberList(list: ListSeen): void {
  seen.list = list;
}

export function lastList(): ListSeen {
  return seen.list;
}

type Titles = Readonly<Record<string, string>>;

// The rules in force change with a restart of the service; a reload of the page gets them.
const kept: { titles?: Promise<Titles> } = {};

/** Gives the title of a rule by its id; the id itself until the titles are here, and for rules no longer in force. */
export function useRuleTitles(): (rule: string) => string {
  const [titles, setTitles] = useState<Titles>({});
  useEffect(() => {
    kept.titles ??= callApi<{ readonly titles: Titles }>('GET', '/rules/titles').then(
      (response) => response.titles,
      () => {
        // The next page tries again.
        delete kept.titles;
        return {};
      },
    );
    void kept.titles.then(setTitles);
  }, []);
  return (rule) => (rule === 'ml.classifier' ? 'Model' : (titles[rule] ?? rule));
}

/** The page of a rule. */
export function ruleHref(rule: string): string {
  return rule === 'ml.classifier' ? '#/evidence?decidedBy=ml&verdict=block' : `#/rules/${encodeURIComponent(rule)}`;
}
