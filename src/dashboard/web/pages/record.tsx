import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Label, RecordView, ReplayReport } from '../../ports.js';
import { callApi } from '../call-api.js';
import { labelWords, marksFor, percent, score } from '../format.js';
import { ruleHref, useAction, useLoad, useRuleTitles } from '../hooks.js';
import { Button, CopyButton, Failure, Notice, PageHead, Panel, VerdictBadge, Waiting } from '../parts/basics.js';
import { RecordBody } from '../parts/record-body.js';
import { Table } from '../parts/table.js';
import { useNeighbours } from '../record-list.js';

type Against = 'recorded' | 'current';

const replayWords = {
  recorded: {
    identical: 'Identical: the same text, rules and model give the same verdict again.',
    different: 'Different, with the recorded versions:',
    impossible: 'It cannot be replayed:',
  },
  current: {
    identical: 'The current rules and model give the same verdict.',
    different: 'The current rules and model give another verdict:',
    impossible: 'It cannot be screened again:',
  },
} as const;

/** One record with what a reader can do about it. */
export function Record({ id, marks }: { id: string; marks: boolean }) {
  const path = `/evidence/${encodeURIComponent(id)}`;
  const { value, error, again } = useLoad<{ readonly record: RecordView; readonly traceUrl?: string }>(path);
  const [replayed, setReplayed] = useState<{ readonly against: Against; readonly report: ReplayReport }>();
  const action = useAction();
  const marking = useAction();
  const replay = (against: Against): void =>
    action.run(async () => {
      setReplayed(undefined);
      setReplayed({ against, report: await callApi<ReplayReport>('POST', `${path}/replay?against=${against}`, {}) });
    });
  const mark = (label: Label | null): void =>
    marking.run(async () => {
      await callApi('PUT', `${path}/label`, { label });
      again();
    });
  const record = value?.record;
  return (
    <>
      <Neighbours id={id} />
      <PageHead title="Record" lead={id}>
        <Button class="primary" disabled={record === undefined || action.busy} onClick={() => replay('recorded')}>
          Replay
        </Button>
        <Button disabled={record === undefined || action.busy} onClick={() => replay('current')}>
          Screen with the current rules
        </Button>
        {action.busy ? <progress aria-label="Replay in progress" /> : null}
      </PageHead>
      <Failure error={action.error} />
      {replayed === undefined || record === undefined ? null : <Replayed {...replayed} record={record} />}
      {record === undefined ? (
        <Waiting error={error} again={again} />
      ) : (
        <RecordBody record={record} traceUrl={value?.traceUrl}>
          <MarkButtons
            verdict={record.verdict.verdict}
            label={record.label}
            busy={marking.busy}
            mayMark={marks}
            onMark={mark}
          />
          <Failure error={marking.error} />
          <CopyTools record={record} marks={marks} />
        </RecordBody>
      )}
    </>
  );
}

function Neighbours({ id }: { id: string }) {
  const { title, href, onReturn, newer, older, search, again } = useNeighbours(id);
  return (
    <nav class="actions back" aria-label="Records">
      <a href={href} onClick={onReturn}>
        ← {title}
      </a>
      {newer === undefined ? null : <a href={`#/evidence/${newer}`}>↑ Newer record</a>}
      {older === undefined ? null : <a href={`#/evidence/${older}`}>↓ Older record</a>}
      {search === 'running' ? <span class="hint">Looking for older records …</span> : null}
      {search === 'failed' ? <Button onClick={again}>Older records could not be loaded. Try again</Button> : null}
    </nav>
  );
}

/** The call again, as a POSIX shell takes it. */
function curlOf({ input, channel, task }: RecordView): string {
  // Of JSON the record keeps the text; a channel other than the default one must be said.
  const asked = task === undefined ? '' : `,"task":${JSON.stringify(task.text)}`;
  const body = `{"input":${input.json ? input.text : JSON.stringify(input.text)}${asked}}`;
  const query = channel === 'unknown' && !input.json ? '' : `?channel=${channel}`;
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  return `curl -s ${quoted(`${location.origin}/analyze${query}`)} -H 'Authorization: Bearer <API_KEY>' -H 'Content-Type: application/json' -d ${quoted(body)}`;
}

function CopyTools({ record, marks }: { record: RecordView; marks: boolean }) {
  return (
    <>
      <p class="actions">
        <CopyButton text={record.id} label="Copy id" />
        <CopyButton text={JSON.stringify(record, null, 2)} label="Copy JSON" />
        {record.input.kept === 'whole' ? <CopyButton text={curlOf(record)} label="Copy curl" /> : null}
      </p>
      {!marks || record.input.kept !== 'whole' || record.findings.length === 0 ? null : (
        <p class="actions">
          <a href={`#/tuning?allow=${record.id}`}>Allow this text until …</a>
          <a href={ruleHref(record.findings[0]?.rule ?? '')}>Open rule</a>
        </p>
      )}
    </>
  );
}

interface ReplayedProps {
  readonly against: Against;
  readonly report: ReplayReport;
  readonly record: RecordView;
}

function Replayed({ against, report: { outcome, notes, verdict }, record }: ReplayedProps) {
  return (
    <>
      <Notice kind={outcome === 'identical' ? 'good' : 'note'}>
        <p>{replayWords[against][outcome]}</p>
        {notes.length === 0 ? null : (
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
      </Notice>
      {verdict === null ? null : (
        <Compared then={record.verdict} now={verdict} title={against === 'current' ? 'Now' : 'Replayed'} />
      )}
    </>
  );
}

type Verdict = RecordView['verdict'];

function Compared({ then, now, title }: { then: Verdict; now: Verdict; title: string }) {
  const titleOf = useRuleTitles();
  const rows: readonly (readonly [string, (it: Verdict) => JSX.Element | string])[] = [
    ['Verdict', (it) => <VerdictBadge verdict={it.verdict} />],
    ['Rule', (it) => (it.rule === 'none' ? '–' : titleOf(it.rule))],
    ['Decided by', (it) => (it.decided_by === 'ml' ? 'model' : 'rules')],
    [
      'Score / threshold',
      (it) =>
        it.decided_by === 'ml'
          ? `${percent(it.score)} / ${percent(it.threshold)}`
          : `${score(it.score)} / ${score(it.threshold)}`,
    ],
    ['Rules version', (it) => <code>{it.rules_version}</code>],
    ['Model version', (it) => <code>{it.ml_version}</code>],
  ];
  return (
    <Panel title="Then and now">
      <Table columns={[['What', 'unseen'], 'Then', title]} class="compare" label="Verdicts then and now">
        {rows.map(([name, cell]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{cell(then)}</td>
            <td>{cell(now)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

interface MarkButtonsProps {
  readonly verdict: 'allow' | 'block';
  readonly label: Label | null;
  readonly busy: boolean;
  readonly mayMark: boolean;
  readonly onMark: (label: Label | null) => void;
}

/** Lets an owner or analyst say whether a verdict was right; a viewer sees what was said. */
function MarkButtons({ verdict, label, busy, mayMark, onMark }: MarkButtonsProps) {
  if (!mayMark) return label === null ? null : <p class="badge">⚑ {labelWords[label]}</p>;
  const { right, wrong } = marksFor(verdict);
  // A mark of the other verdict, from a record that was imported, can be taken off.
  const other = label !== null && label !== right && label !== wrong ? [label] : [];
  return (
    <fieldset class="judge actions">
      <legend>Was this verdict right?</legend>
      {[right, wrong, ...other].map((key) => (
        <button
          key={key}
          type="button"
          aria-pressed={label === key}
          disabled={busy}
          onClick={() => onMark(label === key ? null : key)}
        >
          {label === key ? '⚑ ' : ''}
          {key === right ? `Correct ${verdict}` : labelWords[key].replace(/^./, (it) => it.toUpperCase())}
        </button>
      ))}
      <span class="hint">
        {label === null
          ? 'Marks are exported with the records; eval and tune read them.'
          : 'Press it again to remove the mark.'}
      </span>
    </fieldset>
  );
}
