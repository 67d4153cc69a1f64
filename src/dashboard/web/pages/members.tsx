import { useState } from 'preact/hooks';
import type { InvitationListing, Member } from '../../ports.js';
import { callApi } from '../call-api.js';
import { localDay } from '../format.js';
import { useAction, useFields } from '../hooks.js';
import { Ask, Button, Failure, Panel, ShownOnce, Submit } from '../parts/basics.js';
import { Choice, TextField } from '../parts/fields.js';

const ROLES = {
  viewer: 'viewer: can look',
  analyst: 'analyst: can mark, review and try settings',
  owner: 'owner: can change everything',
};

interface MembersProps {
  readonly me: Member;
  readonly members: readonly Member[];
  readonly invitations: readonly InvitationListing[];
  readonly again: () => void;
}

export function Members({ me, members, invitations, again }: MembersProps) {
  const owner = me.role === 'owner';
  const owners = members.filter(({ role }) => role === 'owner').length;
  return (
    <Panel title="Members">
      <ul class="cards">
        {members.map((member) => (
          <MemberCard
            key={member.id}
            member={member}
            me={member.id === me.id}
            mayChange={owner && !(member.role === 'owner' && owners === 1)}
            again={again}
          />
        ))}
        {invitations.map((invitation) => (
          <InvitationCard key={invitation.id} invitation={invitation} owner={owner} again={again} />
        ))}
      </ul>
      {owner ? <Invite again={again} /> : null}
    </Panel>
  );
}

interface MemberCardProps {
  readonly member: Member;
  readonly me: boolean;
  readonly mayChange: boolean;
  readonly again: () => void;
}

function MemberCard({ member, me, mayChange, again }: MemberCardProps) {
  const [asked, setAsked] = useState(false);
  const action = useAction();
  const path = `/members/${encodeURIComponent(member.id)}`;
  const act = (work: () => Promise<unknown>): void =>
    action.run(async () => {
      await work();
      setAsked(false);
      // A member who left or became a viewer gets the page for that role.
      if (me) location.reload();
      else again();
    });
  return (
    <li class="card">
      <p class="card-title">
        {member.email} <span class="badge">{member.role}</span> {me ? <span class="hint">you</span> : null}
      </p>
      {mayChange ? (
        <div class="actions">
          <select
            aria-label={`Role of ${member.email}`}
            value={member.role}
            disabled={action.busy}
            onChange={(event) => {
              const { value } = event.currentTarget;
              act(() => callApi('PUT', path, { role: value }));
            }}
          >
            {Object.keys(ROLES).map((role) => (
              <option key={role} value={role}>
                {role}
              </option>
            ))}
          </select>
          <Button class="danger" aria-expanded={asked} onClick={() => setAsked(!asked)}>
            Remove <span class="unseen">{member.email}</span>
          </Button>
        </div>
      ) : null}
      {asked ? (
        <Ask
          yes={`Remove ${member.email}`}
          no="Keep"
          isDanger
          busy={action.busy}
          onYes={() => act(() => callApi('DELETE', path))}
          onNo={() => setAsked(false)}
        >
          <p>
            {me ? 'You lose' : 'They lose'} access at once. Keys and evidence stay.
            {member.role === 'owner' ? ' Pending invitations are withdrawn.' : null}
          </p>
        </Ask>
      ) : null}
      <Failure error={action.error} />
    </li>
  );
}

interface InvitationCardProps {
  readonly invitation: InvitationListing;
  readonly owner: boolean;
  readonly again: () => void;
}

function InvitationCard({ invitation, owner, again }: InvitationCardProps) {
  const action = useAction();
  const withdraw = (): void =>
    action.run(async () => {
      await callApi('DELETE', `/invitations/${encodeURIComponent(invitation.id)}`);
      again();
    });
  return (
    <li class="card">
      <div>
        <p class="card-title">
          {invitation.email} <span class="badge">{invitation.role}</span>
        </p>
        <p class="hint">Invited; the link is valid until {localDay(invitation.ends)}.</p>
      </div>
      {owner ? (
        <Button class="danger" disabled={action.busy} onClick={withdraw}>
          Withdraw <span class="unseen">the invitation of {invitation.email}</span>
        </Button>
      ) : null}
      <Failure error={action.error} />
    </li>
  );
}

function Invite({ again }: { again: () => void }) {
  const { values, set, field } = useFields({ email: '', role: 'viewer' });
  const [link, setLink] = useState<{ readonly email: string; readonly url: string }>();
  const action = useAction();
  const invite = action.onSubmit(async () => {
    const { token } = await callApi<{ readonly token: string }>('POST', '/invitations', values);
    setLink({ email: values.email, url: `${location.origin}/dashboard/#/invitation/${token}` });
    set({ email: '' });
    again();
  });
  return (
    <form onSubmit={invite}>
      <h3>Invite someone</h3>
      {link === undefined ? null : (
        <ShownOnce
          lead={
            <>
              <strong>Send this link to {link.email} yourself.</strong> It is shown only once, works once, and is valid
              for 7 days.
            </>
          }
          secret={link.url}
          copyLabel="Copy link"
          doneLabel="Done"
          onDone={() => setLink(undefined)}
        />
      )}
      <TextField label="E-mail" type="email" {...field('email')} required />
      <Choice label="Role" {...field('role')} options={ROLES} />
      <Submit action={action}>Create invitation</Submit>
      <Failure error={action.error} />
    </form>
  );
}
