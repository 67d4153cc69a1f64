import { useState } from 'preact/hooks';
import type { AuditEntry } from '../../../store/operations-store.js';
import { usePages } from '../hooks.js';
import { Button, Empty, Failure, Moment, PageHead, Panel, Waiting } from '../parts/basics.js';
import { Choice, TextField } from '../parts/fields.js';
import { Table } from '../parts/table.js';

type Entry = Omit<AuditEntry, 'accountId'>;

interface AuditPage {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

const KINDS = {
  '': 'everything',
  session: 'sign-ins',
  key: 'keys',
  member: 'members',
  invitation: 'invitations',
  overlay: 'overlays',
  'flow-policy': 'policies of calls',
  evidence: 'marks and exports',
  settings: 'settings',
  order: 'orders',
  webhook: 'webhooks',
  tool: 'MCP tools',
  'second-factor': 'second factors',
};

export function Audit() {
  const [actor, setActor] = useState('');
  const [kind, setKind] = useState('');
  const query = new URLSearchParams({ actor, action: kind }).toString();
  return (
    <>
      <PageHead title="Audit" lead="Who did what in this account, newest first. It holds no screened text.">
        <a class="button" href={`/dashboard/api/audit/export?format=csv&${query}`} download>
          Export CSV
        </a>
        <a class="button" href={`/dashboard/api/audit/export?format=jsonl&${query}`} download>
          Export JSONL
        </a>
      </PageHead>
      <Panel title="Entries">
        <div class="row">
          <TextField label="Who" type="search" value={actor} onValue={setActor} placeholder="part of an e-mail" />
          <Choice label="What" value={kind} onValue={setKind} options={KINDS} />
        </div>
        <Entries key={query} query={query} />
      </Panel>
    </>
  );
}

function Entries({ query }: { query: string }) {
  const path = `/audit?${query}`;
  const { load, pages, action, more } = usePages<AuditPage>(path, ({ next }) =>
    next === null ? undefined : `${path}&after=${next}`,
  );
  if (load.value === undefined) return <Waiting {...load} />;
  const entries = pages.flatMap((page) => page.entries);
  if (entries.length === 0)
    return (
      <Empty title="No entries.">
        <p>Nothing was done that fits.</p>
      </Empty>
    );
  return (
    <>
      <Table columns={['When', 'Who', 'What', 'Target', 'How']} class="log" label="Audit log">
        {entries.map((entry) => (
          <tr key={entry.id}>
            <td>
              <Moment time={entry.at} />
            </td>
            <td>{entry.actor}</td>
            <td>
              <code>{entry.action}</code>
            </td>
            <td>{entry.target}</td>
            <td>
              {Object.entries(entry.detail)
                .map(([name, value]) => `${name}: ${value}`)
                .join(', ')}
            </td>
          </tr>
        ))}
      </Table>
      <Failure error={action.error} />
      {more === undefined ? null : (
        <Button disabled={action.busy} onClick={more}>
          Show older
        </Button>
      )}
    </>
  );
}
