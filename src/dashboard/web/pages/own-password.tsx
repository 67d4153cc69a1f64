import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SessionAnswer } from '../../ports.js';
import { callApi } from '../call-api.js';
import { Notice, Panel } from '../parts/basics.js';
import { TextField } from '../parts/field.js';
import { useAction } from '../use-action.js';

/** Changes one's own password. */
export function OwnPassword({
  email,
  onSession,
}: {
  email: string;
  onSession: (answer: SessionAnswer) => void;
}): JSX.Element {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [done, setDone] = useState(false);
  const action = useAction();
  const change = (event: Event): void => {
    event.preventDefault();
    setDone(false);
    action.run(async () => {
      onSession(await callApi<SessionAnswer>('PUT', '/password', { current, next }));
      setCurrent('');
      setNext('');
      setDone(true);
    });
  };
  return (
    <Panel title="Your password">
      <form onSubmit={change}>
        <p class="hint">Of {email}, in every account. Other browsers that are signed in are signed out.</p>
        <input type="email" value={email} autocomplete="username" hidden readOnly />
        <TextField
          label="Current password"
          type="password"
          value={current}
          onValue={setCurrent}
          required
          autoComplete="current-password"
        />
        <TextField
          label="New password"
          type="password"
          value={next}
          onValue={setNext}
          required
          autoComplete="new-password"
          hint="At least 10 characters."
        />
        <button type="submit" disabled={action.busy}>
          {action.busy ? 'One moment …' : 'Change password'}
        </button>
        {done ? <Notice kind="good">Your password is changed.</Notice> : null}
        {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
      </form>
    </Panel>
  );
}
