import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Role, SessionResponse } from '../../ports.js';
import { CallError, callApi } from '../call-api.js';
import { useAction, useFields } from '../hooks.js';
import { Failure, Notice, Submit, Waiting } from '../parts/basics.js';
import { TextField } from '../parts/fields.js';

interface SignInProps {
  readonly signUp: boolean;
  readonly wantsUp: boolean;
  readonly ended: boolean;
  readonly onSession: (response: SessionResponse) => void;
}

/** Sign-in, and sign-up where the operator lets strangers in. */
export function SignIn({ signUp, wantsUp, ended, onSession }: SignInProps) {
  const up = signUp && wantsUp;
  const { values, field } = useFields({ account: '', email: '', password: '' });
  const [code, setCode] = useState<string>();
  const action = useAction();
  const title = up ? 'Create an account' : 'Sign in';
  useEffect(() => {
    document.title = `${title} · Portcullis`;
  }, [title]);
  const send = action.onSubmit(async () => {
    const { email, password } = values;
    const body = up ? values : { email, password, code };
    const response = await askingForCode(callApi<SessionResponse>('POST', up ? '/sign-up' : '/sign-in', body), setCode);
    // After an ended session, the reader continues where they were.
    if (!ended || up) location.hash = '#/';
    onSession(response);
  });
  return (
    <AuthLayout title={title} onSubmit={send}>
      {ended ? <Notice kind="note">Your session has ended. Sign in to continue where you were.</Notice> : null}
      {up ? (
        <TextField
          label="Account"
          hint="Your company or project."
          {...field('account')}
          required
          autoComplete="organization"
        />
      ) : null}
      <TextField label="E-mail" type="email" {...field('email')} required autoComplete="username" />
      <TextField
        label="Password"
        type="password"
        {...field('password')}
        required
        autoComplete={up ? 'new-password' : 'current-password'}
        hint={up ? 'At least 10 characters.' : undefined}
      />
      {code === undefined ? null : <CodeField code={code} onCode={setCode} />}
      <Failure error={action.error} />
      <Submit class="primary wide" action={action}>
        {action.busy ? 'One moment …' : title}
      </Submit>
      {signUp ? (
        <p class="hint">
          {up ? 'Already have an account? ' : 'New here? '}
          <a href={up ? '#/sign-in' : '#/sign-up'}>{up ? 'Sign in' : 'Create an account'}</a>
        </p>
      ) : (
        <p class="hint">The operator of this service creates accounts.</p>
      )}
    </AuthLayout>
  );
}

const roleWords = {
  owner: 'an owner, who can change everything',
  analyst: 'an analyst, who can review and mark verdicts',
  viewer: 'a viewer, who can look but not change',
} as const;

async function askingForCode<T>(response: Promise<T>, setCode: (code: string) => void): Promise<T> {
  return response.catch((error: unknown) => {
    if (error instanceof CallError && error.code === 'SECOND_FACTOR') setCode('');
    throw error;
  });
}

function CodeField({ code, onCode }: { code: string; onCode: (code: string) => void }) {
  return (
    <TextField
      label="Code"
      hint="Six digits of your authenticator app, or a recovery code."
      value={code}
      onValue={onCode}
      autoComplete="one-time-code"
      required
    />
  );
}

interface Look {
  readonly email: string;
  readonly role: Role;
  readonly accountName: string;
}

export function Invitation({ token, onSession }: { token: string; onSession: (response: SessionResponse) => void }) {
  const [look, setLook] = useState<Look>();
  const [error, setError] = useState<string>();
  const [password, setPassword] = useState('');
  /** Whether the reader says that they already have a password. The service does not reveal which addresses have one. */
  const [known, setKnown] = useState(false);
  const [code, setCode] = useState<string>();
  const action = useAction();
  useEffect(() => {
    document.title = 'Invitation · Portcullis';
    callApi<Look>('POST', '/invitation/look', { token }).then(setLook, (failed: Error) => setError(failed.message));
  }, [token]);
  const accept = action.onSubmit(async () => {
    const body = { token, password, code, as: known ? 'member' : 'new' };
    const response = await askingForCode(callApi<SessionResponse>('POST', '/invitation/accept', body), setCode);
    location.hash = '#/';
    onSession(response);
  });
  if (look === undefined)
    return (
      <AuthLayout title="Invitation">
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
      </AuthLayout>
    );
  return (
    <AuthLayout title={`Join ${look.accountName}`} onSubmit={accept}>
      <p class="lead">You are invited as {roleWords[look.role]}.</p>
      <TextField
        label="E-mail"
        type="email"
        value={look.email}
        onValue={() => undefined}
        autoComplete="username"
        readOnly
      />
      <TextField
        label={known ? 'Your password' : 'Choose a password'}
        type="password"
        value={password}
        onValue={setPassword}
        required
        autoComplete={known ? 'current-password' : 'new-password'}
        hint={known ? 'The one that you sign in with.' : 'At least 10 characters.'}
      />
      <label class="choice">
        <input type="checkbox" checked={known} onChange={(event) => setKnown(event.currentTarget.checked)} /> I already
        have a password here
      </label>
      {code === undefined ? null : <CodeField code={code} onCode={setCode} />}
      <Failure error={action.error} />
      <Submit class="primary wide" action={action}>
        {action.busy ? 'One moment …' : 'Join'}
      </Submit>
    </AuthLayout>
  );
}

interface AuthLayoutProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onSubmit?: (event: Event) => void;
}

function AuthLayout({ title, children, onSubmit }: AuthLayoutProps) {
  return (
    <main class="auth">
      <p class="brand">
        <span class="gate" aria-hidden="true" />
        Portcullis
      </p>
      <form class="panel" onSubmit={onSubmit}>
        <h1>{title}</h1>
        {children}
      </form>
      <p class="hint">Screens text for prompt injection before it reaches a tool or a model.</p>
    </main>
  );
}
