import { useState } from 'preact/hooks';

/** A thing a reader can set off: whether it is under way, and what went wrong the last time. */
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
