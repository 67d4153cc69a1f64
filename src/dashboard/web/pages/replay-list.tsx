import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RecordView, ReplayReport } from '../../ports.js';
import { callApi } from '../call-api.js';
import { counted } from '../format.js';
import { Notice } from '../parts/basics.js';

type Outcome = ReplayReport['outcome'] | 'failed';
type Outcomes = readonly { readonly id: string; readonly outcome: Outcome; readonly note: string | undefined }[];

const outcomeWords = {
  identical: 'identical',
  different: 'different',
  impossible: 'not possible',
  failed: 'failed',
} as const;

/** Replays every record of the page shown, one after the other. */
export function ReplayList({ records }: { records: readonly RecordView[] }): JSX.Element {
  const [outcomes, setOutcomes] = useState<Outcomes>();
  const [running, setRunning] = useState(false);
  const wanted = useRef(false);
  useEffect(
    () => () => {
      wanted.current = false;
    },
    [],
  );
  const start = async (): Promise<void> => {
    wanted.current = true;
    setRunning(true);
    let done: Outcomes = [];
    setOutcomes(done);
    for (const { id } of records) {
      if (!wanted.current) break;
      const report = await callApi<ReplayReport>('POST', `/evidence/${id}/replay`, {}).catch(() => undefined);
      done = [...done, { id, outcome: report?.outcome ?? 'failed', note: report?.notes[0] }];
      setOutcomes(done);
    }
    setRunning(false);
  };
  const stop = (): void => {
    wanted.current = false;
  };
  return (
    <div class="replays">
      <div class="actions">
        <button type="button" disabled={running} onClick={() => void start()}>
          Replay these {records.length}
        </button>
        {running ? (
          <>
            <progress aria-label="Replay" max={records.length} value={outcomes?.length ?? 0} />
            <button type="button" onClick={stop}>
              Stop
            </button>
          </>
        ) : null}
        {outcomes === undefined ? (
          <span class="hint">Screens each text again with its versions; it counts nothing.</span>
        ) : (
          <span role="status">
            {outcomes.length} of {records.length}: {summary(outcomes)}
          </span>
        )}
      </div>
      {outcomes === undefined || running ? null : <Others outcomes={outcomes} />}
    </div>
  );
}

function summary(outcomes: Outcomes): string {
  const kinds = Object.keys(outcomeWords) as Outcome[];
  return kinds
    .map((kind) => [kind, outcomes.filter(({ outcome }) => outcome === kind).length] as const)
    .filter(([kind, n]) => n > 0 || kind === 'identical')
    .map(([kind, n]) => `${n} ${outcomeWords[kind]}`)
    .join(', ');
}

/** What didn't come out the same, with the reason. */
function Others({ outcomes }: { outcomes: Outcomes }): JSX.Element | null {
  const others = outcomes.filter(({ outcome }) => outcome !== 'identical');
  if (others.length === 0) return null;
  return (
    <Notice kind="note">
      <p>{counted(others.length, 'record is', 'records are')} not the same again:</p>
      <ul>
        {others.map(({ id, outcome, note }) => (
          <li key={id}>
            <a href={`#/evidence/${id}`}>{id}</a> {outcomeWords[outcome]}
            {note === undefined ? '' : `: ${note}`}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
