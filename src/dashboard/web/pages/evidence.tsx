import type { JSX } from 'preact';
import type { RecordView } from '../../ports.js';
import { localTime, localTimeShort, score, utcTime } from '../format.js';
import { Empty, PageHead, VerdictBadge, Waiting } from '../parts/basics.js';
import { ExportButtons } from '../parts/export-buttons.js';
import { TextStart } from '../parts/marked-text.js';
import { type Paging, usePaging } from '../use-paging.js';
import { EvidenceFilters } from './evidence-filters.js';
import { ReplayList } from './replay-list.js';

const words = { false_alarm: 'false alarm', missed_attack: 'missed attack' } as const;

/** The list of records. Filters live in the address, so that a view can be shared and gone back to. */
export function Evidence({ query }: { query: URLSearchParams }): JSX.Element {
  const key = query.toString();
  const { value, error, again, ...paging } = usePaging(query);
  return (
    <>
      <PageHead title="Evidence" lead="One record for every decision, newest first.">
        <ExportButtons key={key} query={key} />
      </PageHead>
      <EvidenceFilters query={query} />
      {value === undefined ? (
        <Waiting error={error} again={again} />
      ) : value.records.length === 0 && value.next === null && paging.number === 1 ? (
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
            <SearchProgress {...paging} searchedTo={value.searchedTo} />
          ) : (
            <>
              <RecordTable records={value.records} />
              <ReplayList key={`${key} ${paging.number} ${value.records[0]?.id}`} records={value.records} />
            </>
          )}
          <nav class="actions paging" aria-label="Paging">
            <button type="button" disabled={paging.newer === undefined} onClick={paging.newer}>
              ← Newer
            </button>
            <span role="status">Page {paging.number}</span>
            <button type="button" disabled={paging.older === undefined || paging.searching} onClick={paging.older}>
              Older →
            </button>
          </nav>
        </>
      )}
    </>
  );
}

/** How far a search has come that found nothing yet. The date changes often, so it isn't read out. */
function SearchProgress({
  searching,
  stop,
  older,
  searchedTo,
}: Pick<Paging, 'searching' | 'stop' | 'older'> & { searchedTo: number | null }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title" role="status">
        {searching
          ? 'Searching older records …'
          : older === undefined
            ? 'No older record fits.'
            : 'The search is stopped.'}
      </p>
      {searchedTo === null ? null : <p>Nothing found back to {localTime(searchedTo)}.</p>}
      {searching ? (
        <button type="button" onClick={stop}>
          Stop
        </button>
      ) : older === undefined ? null : (
        <button type="button" onClick={older}>
          Go on
        </button>
      )}
    </div>
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
