import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SessionAnswer } from '../../ports.js';
import { callApi } from '../call-api.js';
import { Notice } from '../parts/basics.js';
import { Door } from '../parts/door.js';
import { TextField } from '../parts/field.js';
import { useAction } from '../use-action.js';

interface SignInProps {
  readonly signUp: boolean;
  /** The reader came to make an account. */
  readonly wantsUp: boolean;
  readonly onSession: (answer: SessionAnswer) => void;
}

/** Sign-in, and sign-up where the operator lets strangers in. */
export function SignIn({ signUp, wantsUp, onSession }: SignInProps): JSX.Element {
  const up = signUp && wantsUp;
  const [account, setAccount] = useState('');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const action = useAction();
  const title = up ? 'Make an account' : 'Sign in';
  useEffect(() => {
    document.title = `${title} · Portcullis`;
  }, [title]);
  const send = (event: Event): void => {
    event.preventDefault();
    action.run(async () => {
      const body = up ? { account, email, password } : { email, password };
      const answer = await callApi<SessionAnswer>('POST', up ? '/sign-up' : '/sign-in', body);
      location.hash = '#/';
      onSession(answer);
    });
  };
  return (
    <Door title={title} onSubmit={send}>
      {up ? (
        <TextField
          label="Account"
          hint="Your company or project."
          value={account}
          onValue={setAccount}
          required
          autoComplete="organization"
        />
      ) : null}
      <TextField label="E-mail" type="email" value={email} onValue={setEmail} required autoComplete="username" />
      <TextField
        label="Password"
        type="password"
        value={password}
        onValue={setPassword}
        required
        autoComplete={up ? 'new-password' : 'current-password'}
        {...(up ? { hint: 'At least 10 characters.' } : {})}
      />
      {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
      <button type="submit" class="primary wide" disabled={action.busy}>
        {action.busy ? 'One moment …' : title}
      </button>
      {signUp ? (
        <p class="hint">
          {up ? 'You have one? ' : 'New here? '}
          <a href={up ? '#/sign-in' : '#/sign-up'}>{up ? 'Sign in' : 'Make an account'}</a>
        </p>
      ) : (
        <p class="hint">Accounts are made by the operator of this service.</p>
      )}
    </Door>
  );
}
