import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Label, RecordView, ReplayReport } from '../../ports.js';
import { callApi } from '../call-api.js';
import { Notice, PageHead, VerdictBadge, Waiting } from '../parts/basics.js';
import { useAction } from '../use-action.js';
import { useLoad } from '../use-load.js';
import { RecordBody } from './record-body.js';

type Against = 'recorded' | 'current';

const replayWords = {
  recorded: {
    identical: 'Identical: the same text, rules and model give the same verdict again.',
    different: 'Different, by the versions of the record:',
    impossible: 'It cannot be replayed:',
  },
  current: {
    identical: 'The versions that run now say the same.',
    different: 'The versions that run now say something else:',
    impossible: 'It cannot be screened again:',
  },
} as const;

/** One record, whole, with what a reader can do about it. */
export function Record({ id, owner }: { id: string; owner: boolean }): JSX.Element {
  const { value, error, again } = useLoad<{ readonly record: RecordView }>(`/evidence/${encodeURIComponent(id)}`);
  const [replayed, setReplayed] = useState<{ readonly against: Against; readonly report: ReplayReport }>();
  const action = useAction();
  const marking = useAction();
  const path = `/evidence/${encodeURIComponent(id)}`;
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
      <p class="back">
        <a href="#/evidence">← Evidence</a>
      </p>
      <PageHead title="Record" lead={id}>
        <button
          type="button"
          class="primary"
          disabled={record === undefined || action.busy}
          onClick={() => replay('recorded')}
        >
          Replay
        </button>
        <button type="button" disabled={record === undefined || action.busy} onClick={() => replay('current')}>
          Screen by today’s versions
        </button>
        {action.busy ? <progress aria-label="Replay under way" /> : null}
      </PageHead>
      {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
      {replayed === undefined ? null : <Replayed {...replayed} />}
      {record === undefined ? (
        <Waiting error={error} again={again} />
      ) : (
        <RecordBody record={record}>
          <Judge
            verdict={record.verdict.verdict}
            label={record.label}
            busy={marking.busy}
            error={marking.error}
            owner={owner}
            onMark={mark}
          />
        </RecordBody>
      )}
    </>
  );
}

function Replayed({ against, report }: { against: Against; report: ReplayReport }): JSX.Element {
  const { outcome, notes, verdict } = report;
  return (
    <Notice kind={outcome === 'identical' ? 'good' : 'note'}>
      <p>
        {replayWords[against][outcome]}{' '}
        {against === 'current' && verdict !== null ? <VerdictBadge verdict={verdict.verdict} /> : null}
      </p>
      {notes.length === 0 ? null : (
        <ul>
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

const labels = [
  ['false_alarm', 'False alarm'],
  ['missed_attack', 'Missed attack'],
] as const;

interface JudgeProps {
  readonly verdict: 'allow' | 'block';
  readonly label: Label | null;
  readonly busy: boolean;
  readonly error: string | undefined;
  readonly owner: boolean;
  readonly onMark: (label: Label | null) => void;
}

/** Where an owner says that a verdict was wrong, and how; a viewer sees what was said. */
function Judge({ verdict, label, busy, error, owner, onMark }: JudgeProps): JSX.Element | null {
  // A block can be a false alarm, an allowed call a missed attack; an older mark of the other kind can be taken off.
  const fitting = verdict === 'block' ? 'false_alarm' : 'missed_attack';
  if (!owner) {
    const said = labels.find(([key]) => key === label)?.[1];
    return said === undefined ? null : <p class="badge">⚑ {said}</p>;
  }
  return (
    <>
      <fieldset class="judge actions">
        <legend>Was this wrong?</legend>
        {labels
          .filter(([key]) => key === fitting || key === label)
          .map(([key, words]) => (
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
        <span class="hint">
          {label === null
            ? 'Marks go with the export; rules and thresholds are tuned on them.'
            : 'Press it again to take the mark off.'}
        </span>
      </fieldset>
      {error === undefined ? null : <Notice kind="error">{error}</Notice>}
    </>
  );
}
