import { useCallback, useEffect, useState } from 'preact/hooks';
import { callApi } from './call-api.js';

/** Place of the reader: the hash as path and query. */
export interface Route {
  /** Without slashes at the ends: `evidence/ev_…`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

function readHash(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path.replace(/\/$/, ''), query: new URLSearchParams(query) };
}

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
  /** A form's `onSubmit` that runs the work. */
  readonly onSubmit: (work: () => Promise<void>) => (event: Event) => void;
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
  const onSubmit =
    (work: () => Promise<void>) =>
    (event: Event): void => {
      event.preventDefault();
      run(work);
    };
  return { busy: state.busy, error: state.error, run, onSubmit };
}

export function useFields<Name extends string>(initial: Readonly<Record<Name, string>>) {
  const [values, setValues] = useState(initial);
  const set = (change: Partial<Record<Name, string>>): void => setValues((now) => ({ ...now, ...change }));
  const field = (name: Name) => ({
    value: values[name],
    onValue: (value: string) => set({ [name]: value } as Partial<Record<Name, string>>),
  });
  return { values, set, field };
}

export interface Load<T> {
  /** The value of the path last loaded; while another path loads, still that of the previous one. */
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

/**
 * Loads the first page of a list, and older ones on demand by `more`, which is undefined at the end. `nextPath`: the path after a page;
 * undefined after the last one.
 */
export function usePages<T>(path: string, nextPath: (page: T) => string | undefined) {
  const load = useLoad<T>(path);
  const [older, setOlder] = useState<readonly T[]>([]);
  const action = useAction();
  const pages = load.value === undefined ? [] : [load.value, ...older];
  const last = pages.at(-1);
  const next = last === undefined ? undefined : nextPath(last);
  const more = (): void =>
    action.run(async () => {
      if (next !== undefined) setOlder([...older, await callApi<T>('GET', next)]);
    });
  return { load, pages, action, more: next === undefined ? undefined : more };
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

export function runHref(id: string): string {
  return `#/evidence/run/${encodeURIComponent(id)}`;
}

export function ruleHref(rule: string): string {
  return rule === 'ml.classifier' ? '#/evidence?decidedBy=ml&verdict=block' : `#/rules/${encodeURIComponent(rule)}`;
}
