import { useState } from 'preact/hooks';
import {
  checkAccountPolicy,
  confirmedPolicy,
  type FlowGroup,
  isAcceptable,
  isConfirmed,
  type WrittenPolicy,
  withdrawnPolicy,
} from '../../../policy/run/written-policy.js';
import type { FlowPolicyState, FlowsResponse } from '../../ports.js';
import { callApi } from '../call-api.js';
import { count, counted, score } from '../format.js';
import { type Load, useAction, useLoad } from '../hooks.js';
import { Ask, Button, CopyButton, Empty, Failure, Loaded, Notice, PageHead, Panel } from '../parts/basics.js';
import { Segments, TextArea } from '../parts/fields.js';
import { InlineText } from '../parts/marked-text.js';
import { Table } from '../parts/table.js';

/** By days. */
const PERIODS = { 1: 'Day', 7: 'Week', 30: '30 days' } as const;

/** Values that calls carried from data, and the account's policy, which permits what the reader confirms. */
export function Flows({ owner }: { owner: boolean }) {
  const [days, setDays] = useState<`${keyof typeof PERIODS}`>('7');
  const flows = useLoad<FlowsResponse>(`/flows?days=${days}`);
  const policy = useLoad<FlowPolicyState>('/flow-policy');
  return (
    <>
      <nav class="actions back" aria-label="Records">
        <a href="#/evidence">← Evidence</a>
      </nav>
      <PageHead title="Values from data" lead="Calls that would be refused, by tool, argument and source.">
        <Segments legend="Period" value={days} onValue={setDays} options={PERIODS} />
      </PageHead>
      <Loaded of={policy}>{(state) => <Draft state={state} flows={flows} owner={owner} />}</Loaded>
    </>
  );
}

interface DraftProps {
  readonly state: FlowPolicyState;
  readonly flows: Load<FlowsResponse>;
  readonly owner: boolean;
}

/** The policy as it is being edited: by its text, and by the rows that it permits. */
function Draft({ state, flows, owner }: DraftProps) {
  const [text, setText] = useState(() => policyText(state.policy ?? confirmedPolicy([])));
  const read = readPolicy(text);
  const { policy } = read;
  return (
    <>
      <Loaded of={flows}>
        {(loaded) => (
          <Report
            {...loaded}
            policy={policy}
            onConfirm={(row, isOn) => {
              if (policy !== undefined)
                setText(policyText(isOn ? confirmedPolicy([row], policy) : withdrawnPolicy(policy, row)));
            }}
          />
        )}
      </Loaded>
      <Editor state={state} owner={owner} text={text} onText={setText} {...read} />
    </>
  );
}

function policyText(policy: WrittenPolicy): string {
  return JSON.stringify(policy, null, 2);
}

interface ReadPolicy {
  /** Undefined where the text is no policy. */
  readonly policy?: WrittenPolicy;
  readonly problem?: string;
}

function readPolicy(text: string): ReadPolicy {
  try {
    const policy: unknown = JSON.parse(text);
    checkAccountPolicy(policy);
    return { policy };
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'This is not JSON.' };
    return { problem: `This can't be used: ${error instanceof Error ? error.message : 'unknown reason'}.` };
  }
}

interface ReportProps extends FlowsResponse {
  readonly policy: WrittenPolicy | undefined;
  readonly onConfirm: (row: FlowGroup, isOn: boolean) => void;
}

function Report({ report, moreRows, checked, isWhole, policy, onConfirm }: ReportProps) {
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
  return (
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
                disabled={policy === undefined || !isAcceptable(row)}
                checked={policy !== undefined && isConfirmed(policy, row)}
                onChange={(event) => onConfirm(row, event.currentTarget.checked)}
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
  );
}

interface EditorProps extends ReadPolicy {
  readonly state: FlowPolicyState;
  readonly owner: boolean;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function Editor({ state, owner, text, onText, policy, problem }: EditorProps) {
  const [inForce, setInForce] = useState(state);
  const [said, setSaid] = useState('');
  const [asking, setAsking] = useState(false);
  const action = useAction();
  const isSaved = JSON.stringify(policy) === JSON.stringify(inForce.policy);
  const save = action.onSubmit(async () => {
    setSaid('');
    setInForce(await callApi<FlowPolicyState>('PUT', `/flow-policy?replaces=${inForce.version}`, policy));
    setSaid('Saved. Calls within the next second are the first to be decided by it.');
  });
  const remove = (): void =>
    action.run(async () => {
      setAsking(false);
      setInForce(await callApi<FlowPolicyState>('DELETE', '/flow-policy'));
      setSaid('Removed. The text is still here, and can be saved again.');
    });
  return (
    <Panel title="Policy">
      <p>
        {inForce.policy === null
          ? 'No policy is in force: calls that carry suspicious values are denied, and other values from data are reported.'
          : 'A policy is in force for the calls of runs.'}
      </p>
      <form onSubmit={save}>
        <TextArea
          label="Policy of this account"
          hint={
            problem ??
            'It permits the rows that are confirmed above: whoever writes these results chooses the values. JSON, as portcullis flow report writes it; createGuard, portcullis hook and mcp-proxy take it too.'
          }
          rows={14}
          isCode
          value={text}
          onValue={(value) => {
            setSaid('');
            onText(value);
          }}
        />
        <div class="actions">
          {owner ? (
            <button type="submit" class="primary" disabled={action.busy || policy === undefined || isSaved}>
              Save
            </button>
          ) : null}
          <CopyButton text={text} label="Copy policy" />
          {owner && inForce.policy !== null && !asking ? (
            <Button disabled={action.busy} onClick={() => setAsking(true)}>
              Remove
            </Button>
          ) : null}
        </div>
        {asking ? (
          <Ask
            yes="Remove the policy"
            no="Keep it"
            isDanger
            busy={action.busy}
            onYes={remove}
            onNo={() => setAsking(false)}
          >
            <p>Calls that carry suspicious values are still denied; other values from data are only reported.</p>
          </Ask>
        ) : null}
        {owner ? null : <p class="hint">Only an owner can save it.</p>}
        {said === '' ? null : <Notice kind="good">{said}</Notice>}
        <Failure error={action.error} />
      </form>
    </Panel>
  );
}
