import { useEffect, useState } from 'preact/hooks';
import type { AccountSettings } from '../../../store/account-store.js';
import type { InvitationListing, Member, SessionResponse } from '../../ports.js';
import { callApi } from '../call-api.js';
import { counted } from '../format.js';
import { useAction, useFields, useLoad } from '../hooks.js';
import { Copyable, CopyButton, Failure, Notice, PageHead, Panel, Submit, Waiting } from '../parts/basics.js';
import { Choice, TextField } from '../parts/fields.js';
import { Members } from './members.js';
import { Webhooks } from './webhooks.js';

interface SettingsResponse {
  readonly account: { readonly name: string };
  readonly settings: AccountSettings;
  readonly members: readonly Member[];
  readonly invitations: readonly InvitationListing[];
}

interface SettingsProps {
  readonly session: SessionResponse;
  readonly onSession: (response: SessionResponse) => void;
}

export function Settings({ session, onSession }: SettingsProps) {
  const me = session.member;
  const owner = me?.role === 'owner';
  const { value, error, again } = useLoad<SettingsResponse>('/settings');
  return (
    <>
      <PageHead title="Settings" {...(owner ? {} : { lead: 'Only an owner can change these.' })} />
      {value === undefined || me === null ? (
        <Waiting error={error} again={again} />
      ) : (
        <div class="columns">
          <div>
            <AccountName name={value.account.name} owner={owner} onSession={onSession} />
            <Retention settings={value.settings} owner={owner} />
            <OwnPassword email={me.email} onSession={onSession} />
            <SecondFactor />
          </div>
          <div>
            <Members me={me} members={value.members} invitations={value.invitations} again={again} />
            {owner ? <Webhooks /> : null}
          </div>
        </div>
      )}
    </>
  );
}

function AccountName({
  name,
  owner,
  onSession,
}: {
  name: string;
  owner: boolean;
  onSession: (response: SessionResponse) => void;
}) {
  const [draft, setDraft] = useState(name);
  const [saved, setSaved] = useState(false);
  const action = useAction();
  const save = action.onSubmit(async () => {
    onSession(await callApi<SessionResponse>('PUT', '/account', { name: draft }));
    setSaved(true);
  });
  return (
    <Panel title="Account">
      <form onSubmit={save}>
        <TextField
          label="Account name"
          value={draft}
          onValue={(value) => {
            setSaved(false);
            setDraft(value);
          }}
          hint="Your company or project. Members of several accounts choose by it."
          disabled={!owner}
          required
        />
        {owner ? <Submit action={action}>Rename</Submit> : null}
        {saved ? <Notice kind="good">Renamed.</Notice> : null}
        <Failure error={action.error} />
      </form>
    </Panel>
  );
}

const keepHints = {
  whole: 'New records can be searched, shown and replayed.',
  masked: 'In new records e-mail addresses, numbers and secrets are masked. They cannot be replayed.',
  hash: 'New records cannot be searched, shown or replayed.',
} as const;

function Retention({ settings, owner }: { settings: AccountSettings; owner: boolean }) {
  const [draft, setDraft] = useState(settings);
  const [saved, setSaved] = useState(false);
  const action = useAction();
  useEffect(() => setDraft(settings), [settings]);
  const change = (part: Partial<AccountSettings>): void => {
    setSaved(false);
    setDraft({ ...draft, ...part });
  };
  const save = action.onSubmit(async () => {
    await callApi('PUT', '/settings', draft);
    setSaved(true);
  });
  return (
    <Panel title="Evidence and verdicts">
      <form onSubmit={save}>
        <Choice
          label="Screened texts are kept"
          hint={keepHints[draft.keep]}
          value={draft.keep}
          disabled={!owner}
          onValue={(keep) => (keep === 'whole' || keep === 'masked' || keep === 'hash') && change({ keep })}
          options={{ whole: 'whole', masked: 'with secrets masked', hash: 'as SHA-256 only' }}
        />
        <TextField
          label="For how many days"
          type="number"
          min={1}
          max={3650}
          value={String(draft.retentionDays)}
          disabled={!owner}
          onValue={(days) => change({ retentionDays: Number(days) })}
          required
        />
        <Choice
          label="Form of the verdict"
          hint="A call can also ask for the minimal form with form=minimal in its query."
          value={draft.verdictForm}
          disabled={!owner}
          onValue={(form) => (form === 'extended' || form === 'minimal') && change({ verdictForm: form })}
          options={{ extended: 'extended', minimal: 'minimal' }}
        />
        {owner ? (
          <Submit class="primary" action={action}>
            Save
          </Submit>
        ) : null}
        {saved ? <Notice kind="good">Saved.</Notice> : null}
        <Failure error={action.error} />
      </form>
    </Panel>
  );
}

function OwnPassword({ email, onSession }: { email: string; onSession: (response: SessionResponse) => void }) {
  const { values, set, field } = useFields({ current: '', next: '' });
  const [done, setDone] = useState(false);
  const action = useAction();
  const change = action.onSubmit(async () => {
    setDone(false);
    onSession(await callApi<SessionResponse>('PUT', '/password', values));
    set({ current: '', next: '' });
    setDone(true);
  });
  return (
    <Panel title="Your password">
      <form onSubmit={change}>
        <p class="hint">For {email}, in every account. Your sessions in other browsers end.</p>
        <input type="email" value={email} autocomplete="username" hidden readOnly />
        <TextField
          label="Current password"
          type="password"
          {...field('current')}
          required
          autoComplete="current-password"
        />
        <TextField
          label="New password"
          type="password"
          {...field('next')}
          required
          autoComplete="new-password"
          hint="At least 10 characters."
        />
        <Submit action={action}>{action.busy ? 'One moment …' : 'Change password'}</Submit>
        {done ? <Notice kind="good">Your password was changed.</Notice> : null}
        <Failure error={action.error} />
      </form>
    </Panel>
  );
}

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
function SecondFactor() {
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
