import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Label, RecordView, ReplayReport } from '../../ports.js';
import { callApi } from '../call-api.js';
import { Notice, PageHead, Panel, Waiting } from '../parts/basics.js';
import { useAction } from '../use-action.js';
import { useLoad } from '../use-load.js';
import { RecordBody } from './record-body.js';

const replayWords = {
  identical: 'Identical: the same text, rules and model give the same verdict again.',
  different: 'Different:',
  impossible: 'It cannot be replayed:',
} as const;

/** One record, whole, with what a reader can do about it. */
export function Record({ id, owner }: { id: string; owner: boolean }): JSX.Element {
  const { value, error, again } = useLoad<{ readonly record: RecordView }>(`/evidence/${encodeURIComponent(id)}`);
  const [report, setReport] = useState<ReplayReport>();
  const action = useAction();
  const path = `/evidence/${encodeURIComponent(id)}`;
  const replay = (): void =>
    action.run(async () => setReport(await callApi<ReplayReport>('POST', `${path}/replay`, {})));
  const mark = (label: Label | null): void =>
    action.run(async () => {
      await callApi('PUT', `${path}/label`, { label });
      again();
    });
  const record = value?.record;
  return (
    <>
      <p class="back">
        <a href="#/evidence">← Evidence</a>
      </p>
      <PageHead title="Record" lead={id}>
        <button type="button" class="primary" disabled={record === undefined || action.busy} onClick={replay}>
          {action.busy ? 'One moment …' : 'Replay'}
        </button>
      </PageHead>
      {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
      {report === undefined ? null : (
        <Notice kind={report.outcome === 'identical' ? 'good' : 'note'}>
          <p>{replayWords[report.outcome]}</p>
          {report.notes.length === 0 ? null : (
            <ul>
              {report.notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
          )}
        </Notice>
      )}
      {record === undefined ? (
        <Waiting error={error} again={again} />
      ) : (
        <>
          <RecordBody record={record} />
          {owner ? <Judge label={record.label} busy={action.busy} onMark={mark} /> : null}
        </>
      )}
    </>
  );
}

function Judge({
  label,
  busy,
  onMark,
}: {
  label: Label | null;
  busy: boolean;
  onMark: (label: Label | null) => void;
}): JSX.Element {
  const options = [
    ['false_alarm', 'False alarm'],
    ['missed_attack', 'Missed attack'],
  ] as const;
  return (
    <Panel title="Was this right?">
      <p class="hint">Marked records go with the export and are what rules and thresholds are tuned on.</p>
      <div class="actions">
        {options.map(([key, words]) => (
          <button
            key={key}
            type="button"
            aria-pressed={label === key}
            disabled={busy}
            onClick={() => onMark(label === key ? null : key)}
          >
            {label === key ? '⚑ ' : ''}
            {words}
          </button>
        ))}
      </div>
    </Panel>
  );
}
