import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Role, SessionAnswer } from '../../ports.js';
import { callApi } from '../call-api.js';
import { Notice, Waiting } from '../parts/basics.js';
import { Door } from '../parts/door.js';
import { TextField } from '../parts/field.js';
import { useAction } from '../use-action.js';

interface Look {
  readonly email: string;
  readonly role: Role;
  readonly accountName: string;
  /** The e-mail has a password here already. */
  readonly known: boolean;
}

/** Where the link of an invitation leads. */
export function Invitation({
  token,
  onSession,
}: {
  token: string;
  onSession: (answer: SessionAnswer) => void;
}): JSX.Element {
  const [look, setLook] = useState<Look>();
  const [error, setError] = useState<string>();
  const [password, setPassword] = useState('');
  const action = useAction();
  useEffect(() => {
    document.title = 'Invitation · Portcullis';
    callApi<Look>('POST', '/invitation/look', { token }).then(setLook, (failed: Error) => setError(failed.message));
  }, [token]);
  const accept = (event: Event): void => {
    event.preventDefault();
    action.run(async () => {
      const answer = await callApi<SessionAnswer>('POST', '/invitation/accept', { token, password });
      location.hash = '#/';
      onSession(answer);
    });
  };
  if (look === undefined)
    return (
      <Door title="Invitation">
        {error === undefined ? (
          <Waiting error={undefined} again={() => undefined} />
        ) : (
          <>
            <Notice kind="error">{error}</Notice>
            <p>
              <a href="#/">Go to the dashboard</a>
            </p>
          </>
        )}
      </Door>
    );
  return (
    <Door title={`Join ${look.accountName}`} onSubmit={accept}>
      <p class="lead">
        You are invited as {look.role === 'owner' ? 'an owner, who may change everything' : 'a viewer, who may look'}.
      </p>
      <TextField
        label="E-mail"
        type="email"
        value={look.email}
        onValue={() => undefined}
        autoComplete="username"
        readOnly
      />
      <TextField
        label={look.known ? 'Your password' : 'Choose a password'}
        type="password"
        value={password}
        onValue={setPassword}
        required
        autoComplete={look.known ? 'current-password' : 'new-password'}
        hint={look.known ? 'You have one here already: the same for all accounts.' : 'At least 10 characters.'}
      />
      {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
      <button type="submit" class="primary wide" disabled={action.busy}>
        {action.busy ? 'One moment …' : 'Join'}
      </button>
    </Door>
  );
}
