import { useEffect, useRef, useState } from 'preact/hooks';
import type { KeyListing, RecordView, ReplayReport } from '../../ports.js';
import { callApi } from '../call-api.js';
import {
  channelWords,
  counted,
  deciderWords,
  labelWords,
  localTime,
  localTimeShort,
  score,
  utcTime,
} from '../format.js';
import { runHref, useFields, useLoad, useRuleTitles } from '../hooks.js';
import { Button, Empty, Notice, PageHead, VerdictBadge, Waiting } from '../parts/basics.js';
import { ExportButtons } from '../parts/export-buttons.js';
import { Choice, TextField } from '../parts/fields.js';
import { RecordExcerpt } from '../parts/marked-text.js';
import { Table } from '../parts/table.js';
import { leaveList, type Paging, usePaging } from '../record-list.js';

/** The list of records. Filters are in the address: a view can be shared, and Back restores it. */
export function Evidence({ query }: { query: URLSearchParams }) {
  const key = query.toString();
  const run = query.get('run');
  const { value, error, again, ...paging } = usePaging(query);
  return (
    <>
      <PageHead title="Evidence" lead="One record for every decision, newest first.">
        <a class="button" href="#/evidence/flows">
          Values from data
        </a>
        <ExportButtons key={key} query={key} />
      </PageHead>
      <EvidenceFilters query={query} />
      {run === null ? null : (
        <p>
          <a href={runHref(run)}>This run as a time line</a>
        </p>
      )}
      {value === undefined ? (
        <Waiting error={error} again={again} />
      ) : value.records.length === 0 && value.next === null && paging.number === 1 ? (
        <Empty title={key === '' ? 'No record yet.' : 'No record matches these filters.'}>
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
              <RecordTable records={value.records} query={query} number={paging.number} />
              <ReplayList key={`${key} ${paging.number} ${value.records[0]?.id}`} records={value.records} />
            </>
          )}
          <nav class="actions paging" aria-label="Paging">
            <Button disabled={paging.newer === undefined} onClick={paging.newer}>
              ← Newer
            </Button>
            <span role="status">Page {paging.number}</span>
            <Button disabled={paging.older === undefined || paging.searching} onClick={paging.older}>
              Older →
            </Button>
          </nav>
        </>
      )}
    </>
  );
}

/** Progress of a search without results so far. The date changes often, so it isn't read out. */
function SearchProgress({
  searching,
  stop,
  older,
  searchedTo,
}: Pick<Paging, 'searching' | 'stop' | 'older'> & { searchedTo: number | null }) {
  return (
    <div class="empty">
      <p class="empty-title" role="status">
        {searching
          ? 'Searching older records …'
          : older === undefined
            ? 'No older record matches.'
            : 'The search was stopped.'}
      </p>
      {searchedTo === null ? null : <p>Nothing found back to {localTime(searchedTo)}.</p>}
      {searching ? (
        <Button onClick={stop}>Stop</Button>
      ) : older === undefined ? null : (
        <Button onClick={older}>Continue</Button>
      )}
    </div>
  );
}

interface RecordTableProps {
  readonly records: readonly RecordView[];
  readonly query: URLSearchParams;
  /** Of the page. */
  readonly number: number;
}

function RecordTable({ records, query, number }: RecordTableProps) {
  const titleOf = useRuleTitles();
  const term = query.get('text') ?? '';
  return (
    <Table columns={['Verdict', 'Time', 'Rule', ['Score', 'number'], 'Decided by', 'Channel', 'Text']} class="records">
      {records.map((record) => (
        <tr key={record.id}>
          <td>
            <VerdictBadge verdict={record.verdict.verdict} />
          </td>
          <td class="when">
            <time
              dateTime={record.time}
              title={`${localTime(Date.parse(record.time))} · ${utcTime(Date.parse(record.time))}`}
            >
              {localTimeShort(Date.parse(record.time))}
            </time>
          </td>
          <td class={record.verdict.rule === 'none' && record.label === null ? 'rule none' : 'rule'}>
            {record.verdict.rule === 'none' ? (
              '–'
            ) : (
              <span title={record.verdict.rule}>{titleOf(record.verdict.rule)}</span>
            )}
            {record.label === null ? null : <span class="badge label">⚑ {labelWords[record.label]}</span>}
          </td>
          <td class="number">{score(record.verdict.score)}</td>
          <td class="by">{deciderWords[record.verdict.decided_by]}</td>
          <td class="channel">
            {channelWords[record.channel]}
            {record.task === undefined ? null : (
              <>
                {' · '}
                <span title="The call named the user's task">task</span>
              </>
            )}
            {record.run === undefined ? null : (
              <>
                {' · '}
                <a href={runHref(record.run.id)} aria-label={`run ${record.run.id}`}>
                  run
                </a>
              </>
            )}
          </td>
          <td class="text">
            <a href={`#/evidence/${record.id}`} onClick={() => leaveList(number)}>
              <RecordExcerpt record={record} term={term} />
            </a>
          </td>
        </tr>
      ))}
    </Table>
  );
}

const CHOICES = {
  verdict: ['Verdict', { block: 'block', allow: 'allow' }],
  channel: ['Channel', channelWords],
  task: ['Task', { with: 'with a task', without: 'without' }],
  decidedBy: ['Decided by', { rules: 'rules', ml: 'model', 'ml-error-rules-fallback': 'rules, model failed' }],
  routerLevel: ['Router level', { rules: 'rules', advanced: 'advanced', deep: 'deep' }],
  label: [
    'Mark',
    {
      none: 'not marked',
      false_alarm: 'false positive',
      missed_attack: 'missed attack',
      correct_block: 'correct block',
      correct_allow: 'correct allow',
    },
  ],
} as const;

/** Filters of the list, as the address has them. Choices apply at once, words when they are sent. */
function EvidenceFilters({ query }: { query: URLSearchParams }) {
  const keys = useLoad<{ readonly keys: readonly KeyListing[] }>('/keys').value?.keys ?? [];
  const asked = { text: query.get('text') ?? '', rule: query.get('rule') ?? '', run: query.get('run') ?? '' };
  const words = useFields(asked);
  // Back, Forward and links change the address behind the form.
  useEffect(() => words.set(asked), [query]);
  const set = (changes: Readonly<{ [name: string]: string }>): void => {
    const wanted = new URLSearchParams(query);
    // Words typed and not sent yet go along.
    for (const [name, value] of Object.entries({ ...words.values, ...changes })) {
      if (value.trim() === '') wanted.delete(name);
      else wanted.set(name, value.trim());
    }
    location.hash = `#/evidence?${wanted}`;
  };
  const clear = (): void => {
    words.set({ text: '', rule: '', run: '' });
    location.hash = '#/evidence';
  };
  const search = (event: Event): void => {
    event.preventDefault();
    set({});
  };
  const more = ['task', 'decidedBy', 'routerLevel', 'label', 'keyId', 'run', 'from', 'to'].filter((name) =>
    query.has(name),
  ).length;
  const choices = Object.entries(CHOICES).map(([name, [label, options]]) => (
    <Choice
      key={name}
      label={label}
      value={query.get(name) ?? ''}
      onValue={(value) => set({ [name]: value })}
      options={{ '': 'any', ...options }}
    />
  ));
  return (
    <form class="panel filters" onSubmit={search} aria-label="Filters">
      <div class="filter-row">
        <TextField
          label="Words in the text"
          placeholder="words, or an evidence id"
          type="search"
          {...words.field('text')}
        />
        <TextField label="Deciding rule" placeholder="override.ignore-previous" {...words.field('rule')} />
        {choices.slice(0, 2)}
        <button type="submit" class="primary">
          Search
        </button>
        {query.toString() === '' ? null : <Button onClick={clear}>Clear</Button>}
      </div>
      <details open={more > 0}>
        <summary>More filters{more > 0 ? ` (${more})` : ''}</summary>
        <div class="filter-row">
          {choices.slice(2)}
          <Choice
            label="Key"
            value={query.get('keyId') ?? ''}
            onValue={(keyId) => set({ keyId })}
            options={{ '': 'any', ...Object.fromEntries(keys.map((key) => [key.id, key.name])) }}
          />
          <TextField label="Run" placeholder="its id" {...words.field('run')} />
          <TextField
            label="From"
            type="datetime-local"
            value={toLocal(query.get('from'))}
            onValue={(value) => set({ from: fromLocal(value) })}
          />
          <TextField
            label="Before"
            type="datetime-local"
            value={toLocal(query.get('to'))}
            onValue={(value) => set({ to: fromLocal(value) })}
          />
        </div>
      </details>
    </form>
  );
}

function fromLocal(value: string): string {
  const time = new Date(value).getTime();
  return Number.isNaN(time) ? '' : String(time);
}

function toLocal(time: string | null): string {
  if (time === null) return '';
  const moment = new Date(Number(time));
  if (Number.isNaN(moment.getTime())) return '';
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

type Outcome = ReplayReport['outcome'] | 'failed';
type Outcomes = readonly { readonly id: string; readonly outcome: Outcome; readonly note: string | undefined }[];

const outcomeWords = {
  identical: 'identical',
  different: 'different',
  impossible: 'not possible',
  failed: 'failed',
} as const;

function ReplayList({ records }: { records: readonly RecordView[] }) {
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
        <Button disabled={running} onClick={() => void start()}>
          Replay these {records.length}
        </Button>
        {running ? (
          <>
            <progress aria-label="Replay" max={records.length} value={outcomes?.length ?? 0} />
            <Button onClick={stop}>Stop</Button>
          </>
        ) : null}
        {outcomes === undefined ? (
          <span class="hint">Screens each text again with the recorded versions. Nothing is counted.</span>
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

/** The records that are not identical, with the reason. */
function Others({ outcomes }: { outcomes: Outcomes }) {
  const others = outcomes.filter(({ outcome }) => outcome !== 'identical');
  if (others.length === 0) return null;
  return (
    <Notice kind="note">
      <p>{counted(others.length, 'record is', 'records are')} not identical:</p>
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
