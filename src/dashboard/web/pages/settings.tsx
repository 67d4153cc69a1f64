import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AccountSettings } from '../../../store/account-store.js';
import type { Member } from '../../ports.js';
import { callApi } from '../call-api.js';
import { Notice, PageHead, Panel, Waiting } from '../parts/basics.js';
import { Choice, TextField } from '../parts/field.js';
import { useAction } from '../use-action.js';
import { useLoad } from '../use-load.js';

interface SettingsAnswer {
  readonly settings: AccountSettings;
  readonly members: readonly Member[];
}

/** Retention, the verdict's form, and who may look. */
export function Settings({ owner }: { owner: boolean }): JSX.Element {
  const { value, error, again } = useLoad<SettingsAnswer>('/settings');
  return (
    <>
      <PageHead title="Settings" {...(owner ? {} : { lead: 'Only an owner can change these.' })} />
      {value === undefined ? (
        <Waiting error={error} again={again} />
      ) : (
        <div class="columns">
          <Retention settings={value.settings} owner={owner} />
          <Members members={value.members} owner={owner} again={again} />
        </div>
      )}
    </>
  );
}

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
          hint="For new records. A record kept as hash only cannot be searched or replayed."
          value={draft.keep}
          disabled={!owner}
          onValue={(keep) => (keep === 'whole' || keep === 'masked' || keep === 'hash') && change({ keep })}
          options={[
            ['whole', 'whole'],
            ['masked', 'masked'],
            ['hash', 'as hash only'],
          ]}
        />
        <TextField
          label="For how many days"
          type="number"
          min={1}
          max={3650}
          value={String(draft.retentionDays)}
          onValue={(days) => change({ retentionDays: Number(days) })}
          required
        />
        <Choice
          label="Form of the verdict"
          hint="A call can ask for the minimal one by ?form=minimal as well."
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

function Members({
  members,
  owner,
  again,
}: {
  members: readonly Member[];
  owner: boolean;
  again: () => void;
}): JSX.Element {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [role, setRole] = useState('viewer');
  const action = useAction();
  const add = (event: Event): void => {
    event.preventDefault();
    action.run(async () => {
      await callApi('POST', '/members', { email, password, role });
      setEmail('');
      setPassword('');
      again();
    });
  };
  const remove = (id: string): void =>
    action.run(async () => {
      await callApi('DELETE', `/members/${encodeURIComponent(id)}`);
      again();
    });
  return (
    <Panel title="Members">
      <ul class="cards">
        {members.map((member) => (
          <li key={member.id} class="card">
            <p class="card-title">
              {member.email} <span class="badge">{member.role}</span>
            </p>
            {owner ? (
              <button
                type="button"
                class="danger"
                disabled={action.busy}
                aria-label={`Remove ${member.email}`}
                onClick={() => remove(member.id)}
              >
                Remove
              </button>
            ) : null}
          </li>
        ))}
      </ul>
      {owner ? (
        <form onSubmit={add}>
          <h3>Add a member</h3>
          <TextField label="E-mail" type="email" value={email} onValue={setEmail} required />
          <TextField
            label="First password"
            type="password"
            value={password}
            onValue={setPassword}
            required
            hint="At least 10 characters; hand it over yourself."
            autoComplete="new-password"
          />
          <Choice
            label="Role"
            value={role}
            onValue={setRole}
            options={[
              ['viewer', 'viewer: may look'],
              ['owner', 'owner: may change everything'],
            ]}
          />
          <button type="submit" disabled={action.busy}>
            Add member
          </button>
        </form>
      ) : null}
      {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
    </Panel>
  );
}
