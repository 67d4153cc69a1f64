import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AccountSettings } from '../../../store/account-store.js';
import type { InvitationListing, Member, SessionAnswer } from '../../ports.js';
import { callApi } from '../call-api.js';
import { Notice, PageHead, Panel, Waiting } from '../parts/basics.js';
import { Choice, TextField } from '../parts/field.js';
import { useAction } from '../use-action.js';
import { useLoad } from '../use-load.js';
import { Members } from './members.js';
import { OwnPassword } from './own-password.js';

interface SettingsAnswer {
  readonly settings: AccountSettings;
  readonly members: readonly Member[];
  readonly invitations: readonly InvitationListing[];
}

interface SettingsProps {
  readonly session: SessionAnswer;
  readonly onSession: (answer: SessionAnswer) => void;
}

/** Retention, the verdict's form, and who may look. */
export function Settings({ session, onSession }: SettingsProps): JSX.Element {
  const me = session.member;
  const owner = me?.role === 'owner';
  const { value, error, again } = useLoad<SettingsAnswer>('/settings');
  return (
    <>
      <PageHead title="Settings" {...(owner ? {} : { lead: 'Only an owner can change these.' })} />
      {value === undefined || me === null ? (
        <Waiting error={error} again={again} />
      ) : (
        <div class="columns">
          <div>
            <Retention settings={value.settings} owner={owner} />
            <OwnPassword email={me.email} onSession={onSession} />
          </div>
          <Members me={me} members={value.members} invitations={value.invitations} again={again} />
        </div>
      )}
    </>
  );
}

const keepHints = {
  whole: 'For new records: searched, shown and replayed.',
  masked: 'For new records: e-mail addresses, numbers and secrets are masked, places stay. Not replayed.',
  hash: 'For new records: not searched, shown or replayed.',
} as const;

function Retention({ settings, owner }: { settings: AccountSettings; owner: boolean }): JSX.Element {
  const [draft, setDraft] = useState(settings);
  const [saved, setSaved] = useState(false);
  const action = useAction();
  useEffect(() => setDraft(settings), [settings]);
  const change = (part: Partial<AccountSettings>): void => {
    setSaved(false);
    setDraft({ ...draft, ...part });
  };
  const save = (event: Event): void => {
    event.preventDefault();
    action.run(async () => {
      await callApi('PUT', '/settings', draft);
      setSaved(true);
    });
  };
  return (
    <Panel title="Evidence and verdicts">
      <form onSubmit={save}>
        <Choice
          label="Screened texts are kept"
          hint={keepHints[draft.keep]}
          value={draft.keep}
          disabled={!owner}
          onValue={(keep) => (keep === 'whole' || keep === 'masked' || keep === 'hash') && change({ keep })}
          options={[
            ['whole', 'whole'],
            ['masked', 'with secrets masked'],
            ['hash', 'as SHA-256 only'],
          ]}
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
          hint="A call can ask for the minimal one as well: form=minimal in its query."
          value={draft.verdictForm}
          disabled={!owner}
          onValue={(form) => (form === 'extended' || form === 'minimal') && change({ verdictForm: form })}
          options={[
            ['extended', 'extended'],
            ['minimal', 'minimal'],
          ]}
        />
        {owner ? (
          <button type="submit" class="primary" disabled={action.busy}>
            Save
          </button>
        ) : null}
        {saved ? <Notice kind="good">Saved.</Notice> : null}
        {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
      </form>
    </Panel>
  );
}
