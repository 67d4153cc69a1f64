import { useEffect, useState } from 'preact/hooks';

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

/** The route, followed as it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(readHash);
  useEffect(() => {
    const follow = (): void => setRoute(readHash());
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  return route;
}
