import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { confirmedPolicy, isAcceptable } from '../../../policy/run/confirmed-policy.js';
import type { FlowsResponse } from '../../ports.js';
import { count, counted, score } from '../format.js';
import { useLoad } from '../hooks.js';
import { Copyable, Empty, Loaded, PageHead, Panel } from '../parts/basics.js';
import { Segments } from '../parts/fields.js';
import { InlineText } from '../parts/marked-text.js';
import { Table } from '../parts/table.js';

const PERIODS = [
  ['1', 'Day'],
  ['7', 'Week'],
  ['30', '30 days'],
] as const;

/** Values that calls carried from data, and the policy that permits what the reader confirms. */
export function Flows(): JSX.Element {
  const [days, setDays] = useState<'1' | '7' | '30'>('7');
  const load = useLoad<FlowsResponse>(`/flows?days=${days}`);
  return (
    <>
      <nav class="actions back" aria-label="Records">
        <a href="#/evidence">← Evidence</a>
      </nav>
      <PageHead title="Values from data" lead="Calls that would be refused, by tool, argument and source.">
        <Segments legend="Period" value={days} onValue={setDays} options={PERIODS} />
      </PageHead>
      <Loaded of={load}>{(flows) => <Report key={days} {...flows} />}</Loaded>
    </>
  );
}

function Report({ report, moreRows, checked, isWhole }: FlowsResponse): JSX.Element {
  const [confirmed, setConfirmed] = useState<readonly string[]>([]);
  const calls = counted(checked, 'call', 'calls');
  if (report.rows.length === 0)
    return (
      <Empty title="No call carried a value from data.">
        <p>
          {checked === 0
            ? 'No call of a run was screened in this period. Send calls of tools with `channel: tool_call` and a `run_id`.'
            : `${calls} of runs ${checked === 1 ? 'was' : 'were'} checked.`}
        </p>
      </Empty>
    );
  const toggle = (id: string): void =>
    setConfirmed((now) => (now.includes(id) ? now.filter((each) => each !== id) : [...now, id]));
  const policy = confirmedPolicy(report.rows.filter(({ id }) => confirmed.includes(id)));
  return (
    <>
      <Panel title="What calls carried">
        <p>
          {`${count(report.calls)} of ${calls} in ${counted(report.runs, 'run', 'runs')} carried values from data.`}
          {isWhole ? '' : ' Only the newest calls of the period were read.'}
        </p>
        <Table
          columns={[
            ...['Confirm', 'Tool', 'Argument', 'Value', 'From', 'Level'],
            ...(['Calls', 'Runs', 'Highest'] as const).map((words) => [words, 'number'] as const),
            'Newest',
          ]}
          class="log"
          label="Values from data"
        >
          {report.rows.map((row) => (
            <tr key={row.id}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Confirm ${row.argument} of ${row.tool ?? 'a tool'} from ${row.source ?? 'a document'}, ${row.kind}, ${row.level}`}
                  disabled={!isAcceptable(row)}
                  checked={confirmed.includes(row.id)}
                  onChange={() => toggle(row.id)}
                />
              </td>
              <td>
                <InlineText text={row.tool ?? '(no name)'} />
              </td>
              <td>
                <code>{row.argument}</code>
              </td>
              <td>{row.kind}</td>
              <td>
                <InlineText text={row.source ?? '(a document)'} />
              </td>
              <td>
                <span class={`badge level ${row.level}`}>{row.level}</span>
              </td>
              <td class="number">{count(row.calls)}</td>
              <td class="number">{count(row.runs)}</td>
              <td class="number">{row.probability === null ? '–' : score(row.probability)}</td>
              <td>
                <a href={`#/evidence/${row.evidenceId}`} aria-label={`record of the newest call: ${row.evidenceId}`}>
                  record
                </a>
              </td>
            </tr>
          ))}
        </Table>
        {moreRows === 0 ? null : (
          <p class="hint">{`${counted(moreRows, 'more row is', 'more rows are')} not shown: choose a shorter period.`}</p>
        )}
      </Panel>
      <Panel title="Policy">
        <p>
          {confirmed.length === 0
            ? 'It permits nothing that comes from data. Confirm rows above: whoever writes these results chooses the values.'
            : `It permits ${counted(confirmed.length, 'row', 'rows')}, and refuses whatever else comes from data.`}{' '}
          createGuard, portcullis hook and mcp-proxy take it.
        </p>
        <Copyable text={JSON.stringify(policy, null, 2)} label="Copy policy" />
      </Panel>
    </>
  );
}
