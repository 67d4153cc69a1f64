import { useState } from 'preact/hooks';
import { callApi } from '../call-api.js';
import { counted } from '../format.js';
import { useAction, useFields, useLoad } from '../hooks.js';
import { Copyable, CopyButton, Failure, Panel, Submit, Waiting } from '../parts/basics.js';
import { TextField } from '../parts/fields.js';

interface Factor {
  readonly available: boolean;
  readonly on: boolean;
  readonly recoveryLeft: number;
}

interface Begun {
  readonly secret: string;
  readonly uri: string;
  readonly recoveryCodes: readonly string[];
}

/** The reader's second factor: codes from an authenticator app in addition to the password. */
export function SecondFactor() {
  const { value, error, again } = useLoad<Factor>('/second-factor');
  const [begun, setBegun] = useState<Begun>();
  const { values, set, field } = useFields({ password: '', code: '' });
  const action = useAction();
  const begin = action.onSubmit(async () => {
    setBegun(await callApi<Begun>('POST', '/second-factor', { password: values.password }));
    set({ password: '' });
  });
  const confirm = action.onSubmit(async () => {
    await callApi('POST', '/second-factor/confirm', { code: values.code });
    setBegun(undefined);
    set({ code: '' });
    again();
  });
  const remove = action.onSubmit(async () => {
    await callApi('POST', '/second-factor/remove', values);
    set({ password: '', code: '' });
    again();
  });
  const passwordField = (
    <TextField label="Password" type="password" {...field('password')} autoComplete="current-password" required />
  );
  const codeField = <TextField label="Code" {...field('code')} autoComplete="one-time-code" required />;
  return (
    <Panel title="Second factor">
      {value === undefined ? (
        <Waiting error={error} again={again} />
      ) : !value.available ? (
        <p class="hint">Not available here: the operator has not installed the package for it.</p>
      ) : value.on ? (
        <form onSubmit={remove}>
          <p>On. {counted(value.recoveryLeft, 'recovery code is', 'recovery codes are')} left.</p>
          {passwordField}
          {codeField}
          <Submit class="danger" action={action}>
            Switch it off
          </Submit>
        </form>
      ) : begun === undefined ? (
        <form onSubmit={begin}>
          <p class="hint">Off. With it, signing in takes a code of an authenticator app as well.</p>
          {passwordField}
          <Submit action={action}>Set it up</Submit>
        </form>
      ) : (
        <form onSubmit={confirm}>
          <p>Enter this secret in your authenticator app, or open the link on the device that has it.</p>
          <p class="secret">
            <code>{begun.secret}</code>
          </p>
          <p class="actions">
            <CopyButton text={begun.secret} label="Copy secret" />
            <a href={begun.uri}>Open in the app</a>
          </p>
          <p>Keep these recovery codes. Each works once instead of a code; they are not shown again.</p>
          <Copyable text={begun.recoveryCodes.join('\n')} label="Copy recovery codes" />
          {codeField}
          <Submit class="primary" action={action}>
            Switch it on
          </Submit>
        </form>
      )}
      <Failure error={action.error} />
    </Panel>
  );
}
