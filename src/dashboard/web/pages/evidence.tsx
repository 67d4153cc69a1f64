import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RecordPage, RecordView } from '../../ports.js';
import { localTime, localTimeShort, score, utcTime } from '../format.js';
import { Empty, PageHead, VerdictBadge, Waiting } from '../parts/basics.js';
import { ExportButtons } from '../parts/export-buttons.js';
import { TextStart } from '../parts/marked-text.js';
import { useLoad } from '../use-load.js';
import { EvidenceFilters } from './evidence-filters.js';
import { ReplayList } from './replay-list.js';

const words = { false_alarm: 'false alarm', missed_attack: 'missed attack' } as const;

/** The list of records. Filters live in the address, so that a view can be shared and gone back to. */
export function Evidence({ query }: { query: URLSearchParams }): JSX.Element {
  const key = query.toString();
  const [cursors, setCursors] = useState<readonly string[]>([]);
  useEffect(() => setCursors([]), [key]);
  const asked = new URLSearchParams(query);
  const cursor = cursors.at(-1);
  if (cursor !== undefined) asked.set('cursor', cursor);
  const { value, error, again } = useLoad<RecordPage>(`/evidence?${asked}`);
  const next = value?.next ?? null;
  return (
    <>
      <PageHead title="Evidence" lead="One record for every decision, newest first.">
        <ExportButtons key={key} query={key} />
      </PageHead>
      <EvidenceFilters query={query} />
      {value === undefined ? (
        <Waiting error={error} again={again} />
      ) : value.records.length === 0 && next === null ? (
        <Empty title={key === '' ? 'No record yet.' : 'No record fits these filters.'}>
          <p>
            {key === '' ? (
              <>
                Screen a text in the <a href="#/playground">playground</a>, or with a <a href="#/keys">key</a>.
              </>
            ) : (
              <a href="#/evidence">Clear the filters</a>
            )}
          </p>
        </Empty>
      ) : (
        <>
          {value.records.length === 0 ? (
            <p role="status">Nothing found in this stretch yet; go on to older records.</p>
          ) : (
            <>
              <RecordTable records={value.records} />
              <ReplayList key={`${key} ${cursor}`} records={value.records} />
            </>
          )}
          <nav class="actions paging" aria-label="Paging">
            <button type="button" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
              ← Newer
            </button>
            <span role="status">Page {cursors.length + 1}</span>
            <button
              type="button"
              disabled={next === null}
              onClick={() => next !== null && setCursors([...cursors, next])}
            >
              Older →
            </button>
          </nav>
        </>
      )}
    </>
  );
}

function RecordTable({ records }: { records: readonly RecordView[] }): JSX.Element {
  return (
    <table class="records">
      <thead>
        <tr>
          <th scope="col">Verdict</th>
          <th scope="col">Time</th>
          <th scope="col">Rule</th>
          <th scope="col" class="number">
            Score
          </th>
          <th scope="col">Decided by</th>
          <th scope="col">Text</th>
        </tr>
      </thead>
      <tbody>
        {records.map(({ id, time, verdict, input, label }) => (
          <tr key={id}>
            <td>
              <VerdictBadge verdict={verdict.verdict} />
            </td>
            <td class="when">
              <time dateTime={time} title={`${localTime(Date.parse(time))} · ${utcTime(Date.parse(time))}`}>
                {localTimeShort(Date.parse(time))}
              </time>
            </td>
            <td class={verdict.rule === 'none' && label === null ? 'rule none' : 'rule'}>
              {verdict.rule === 'none' ? '–' : <code>{verdict.rule}</code>}
              {label === null ? null : <span class="badge label">⚑ {words[label]}</span>}
            </td>
            <td class="number">{score(verdict.score)}</td>
            <td class="by">
              {verdict.decided_by === 'ml-error-rules-fallback'
                ? 'rules (model failed)'
                : verdict.decided_by === 'ml'
                  ? 'model'
                  : 'rules'}
            </td>
            <td class="text">
              <a href={`#/evidence/${id}`}>
                {input.text === null ? (
                  <span class="hint">kept as its hash only</span>
                ) : input.text === '' ? (
                  <span class="hint">empty text</span>
                ) : (
                  <TextStart text={input.text} />
                )}
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
