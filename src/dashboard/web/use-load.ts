import { useCallback, useEffect, useState } from 'preact/hooks';
import { CallError, callApi } from './call-api.js';

/** What a load has come to. */
export interface Load<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  readonly again: () => void;
}

/** Loads from the API, again when the path changes; the old value stays until the new one is here. */
export function useLoad<T>(path: string): Load<T> {
  const [state, setState] = useState<{ readonly value?: T; readonly error?: string }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    let wanted = true;
    callApi<T>('GET', path).then(
      (value) => wanted && setState({ value }),
      (error: unknown) => {
        if (error instanceof CallError && error.status === 401) window.dispatchEvent(new Event('signed-out'));
        if (wanted) setState({ error: error instanceof Error ? error.message : 'Something failed.' });
      },
    );
    return () => {
      wanted = false;
    };
  }, [path, round]);
  const again = useCallback(() => setRound((it) => it + 1), []);
  return { value: state.value, error: state.error, again };
}
