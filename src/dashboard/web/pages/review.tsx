import { useEffect, useRef, useState } from 'preact/hooks';
import type { Label, RecordView, ReviewResult } from '../../ports.js';
import { callApi } from '../call-api.js';
import { counted, labelWords, localTimeShort, marksFor, score } from '../format.js';
import { useAction, useLoad, useRuleTitles } from '../hooks.js';
import { Button, Empty, Failure, Loaded, Notice, PageHead, Panel, VerdictBadge } from '../parts/basics.js';
import { Segments } from '../parts/fields.js';
import { RecordExcerpt } from '../parts/marked-text.js';
import { Table } from '../parts/table.js';
import { rememberList } from '../record-list.js';

/** Each by the path of its records. */
const QUEUES = {
  '/evidence?verdict=block&label=none&limit=25': 'Blocks',
  '/review/near': 'Allowed, near the threshold',
} as const;

/** Verdicts to be judged, one after another, and what the marks say so far. */
export function Review({ marks }: { marks: boolean }) {
  const [queue, setQueue] = useState<keyof typeof QUEUES>('/evidence?verdict=block&label=none&limit=25');
  const queued = useLoad<{ readonly records: readonly RecordView[] }>(queue);
  const result = useLoad<ReviewResult>('/review/result');
  return (
    <>
      <PageHead title="Review" lead="Say which verdicts were right. eval and tune learn from the marks.">
        <Segments legend="Queue" value={queue} onValue={setQueue} options={QUEUES} />
      </PageHead>
      <Loaded of={queued}>
        {({ records }) =>
          records.length === 0 ? (
            <Empty title="Nothing to review here.">
              <p>Every such call is marked, or there was none.</p>
            </Empty>
          ) : (
            <Queue key={records[0]?.id} records={records} marks={marks} onMarked={result.again} onNext={queued.again} />
          )
        }
      </Loaded>
      <Panel title="What the marks say">
        <Loaded of={result}>{(value) => <Result result={value} />}</Loaded>
      </Panel>
    </>
  );
}

interface QueueProps {
  readonly records: readonly RecordView[];
  readonly marks: boolean;
  readonly onMarked: () => void;
  readonly onNext: () => void;
}

function Queue({ records, marks, onMarked, onNext }: QueueProps) {
  const [labels, setLabels] = useState<ReadonlyMap<string, Label | null>>(
    new Map(records.map(({ id, label }) => [id, label])),
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const action = useAction();
  const titleOf = useRuleTitles();
  useEffect(
    () =>
      rememberList(
        'Review',
        '#/review',
        records.map(({ id }) => id),
      ),
    [records],
  );

  const move = (to: number): void => {
    const next = Math.min(records.length - 1, Math.max(0, to));
    setAt(next);
    list.current?.querySelectorAll<HTMLElement>('.queued > a')[next]?.focus();
  };
  const mark = (targets: readonly RecordView[], is: 'right' | 'wrong' | 'none'): void =>
    action.run(async () => {
      for (const { id, verdict } of targets) {
        const label = is === 'none' ? null : marksFor(verdict.verdict)[is];
        await callApi('PUT', `/evidence/${id}/label`, { label });
        setLabels((now) => new Map(now).set(id, label));
      }
      setChosen(new Set());
      onMarked();
    });
  const current = records[at];
  const onKey = (event: KeyboardEvent): void => {
    if (current === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys: Readonly<Record<string, () => void>> = {
      j: () => move(at + 1),
      ArrowDown: () => move(at + 1),
      k: () => move(at - 1),
      ArrowUp: () => move(at - 1),
      ...(marks
        ? {
            c: () => markAndMove('right'),
            w: () => markAndMove('wrong'),
            u: () => mark([current], 'none'),
            x: () => toggle(current.id),
          }
        : {}),
    };
    const act = keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  const markAndMove = (is: 'right' | 'wrong'): void => {
    if (current === undefined) return;
    mark([current], is);
    move(at + 1);
  };
  const toggle = (id: string): void =>
    setChosen((now) => {
      const next = new Set(now);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const picked = records.filter(({ id }) => chosen.has(id));
  const left = records.filter(({ id }) => labels.get(id) === null).length;
  return (
    <Panel
      title="To review"
      aside={
        <span class="hint" role="status">
          {counted(left, 'record', 'records')} left on this page
        </span>
      }
    >
      {marks ? (
        <div class="actions">
          <Button
            onClick={() => setChosen(new Set(picked.length === records.length ? [] : records.map(({ id }) => id)))}
          >
            {picked.length === records.length ? 'Select none' : 'Select all'}
          </Button>
          <Button disabled={picked.length === 0 || action.busy} onClick={() => mark(picked, 'right')}>
            Mark {picked.length} correct
          </Button>
          <Button disabled={picked.length === 0 || action.busy} onClick={() => mark(picked, 'wrong')}>
            Mark {picked.length} wrong
          </Button>
          <Button disabled={action.busy} onClick={onNext}>
            Load the next
          </Button>
        </div>
      ) : (
        <p class="hint">Only an analyst or owner can mark.</p>
      )}
      <p class="hint">
        Keys in the list: <kbd>j</kbd> <kbd>k</kbd> move
        {marks ? (
          <>
            , <kbd>c</kbd> correct, <kbd>w</kbd> wrong, <kbd>u</kbd> remove the mark, <kbd>x</kbd> select
          </>
        ) : null}
        , <kbd>Enter</kbd> open.
      </p>
      <Failure error={action.error} />
      <ul class="queue" ref={list} onKeyDown={onKey}>
        {records.map((record, index) => {
          const label = labels.get(record.id) ?? null;
          const { right, wrong } = marksFor(record.verdict.verdict);
          return (
            <li key={record.id} class={index === at ? 'queued current' : 'queued'} onFocusIn={() => setAt(index)}>
              {marks ? (
                <input
                  type="checkbox"
                  aria-label={`Select record ${index + 1}`}
                  checked={chosen.has(record.id)}
                  onChange={() => toggle(record.id)}
                />
              ) : null}
              <a href={`#/evidence/${record.id}`}>
                <span class="hint">
                  <VerdictBadge verdict={record.verdict.verdict} /> {localTimeShort(Date.parse(record.time))} ·{' '}
                  {record.verdict.rule === 'none' ? nearest(record) : titleOf(record.verdict.rule)}
                </span>
                <RecordExcerpt record={record} />
              </a>
              {marks ? (
                <span class="actions">
                  {([right, wrong] as const).map((key) => (
                    <button
                      key={key}
                      type="button"
                      aria-pressed={label === key}
                      disabled={action.busy}
                      onClick={() => mark([record], label === key ? 'none' : key === right ? 'right' : 'wrong')}
                    >
                      {key === right ? 'Correct' : 'Wrong'}
                      <span class="unseen"> verdict of record {index + 1}</span>
                    </button>
                  ))}
                </span>
              ) : label === null ? null : (
                <span class="badge">⚑ {labelWords[label]}</span>
              )}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

/** Words for how near an allowed call came to a block. */
function nearest({ rules, model, verdict }: RecordView): string {
  return model.score !== null && model.score / verdict.ml_threshold > rules.score / rules.threshold
    ? `model ${score(model.score)} of ${score(verdict.ml_threshold)}`
    : `rules ${score(rules.score)} of ${score(rules.threshold)}`;
}

function Result({ result }: { result: ReviewResult }) {
  const { marks, days, points, threshold } = result;
  const attacks = marks.correct_block + marks.missed_attack;
  const benign = marks.false_alarm + marks.correct_allow;
  if (attacks + benign === 0) return <p class="hint">No marks yet. Mark a few blocks and a few allowed calls.</p>;
  return (
    <>
      <p>
        {(Object.keys(labelWords) as Label[]).map((label) => `${marks[label]} × ${labelWords[label]}`).join(' · ')},
        over {counted(days, 'day', 'days')}.
      </p>
      {attacks === 0 || benign === 0 ? (
        <Notice kind="note">
          The marks are one-sided: {attacks === 0 ? 'no attack' : 'no benign text'} is among them. eval and tune need
          both; mark some verdicts as correct as well.
        </Notice>
      ) : null}
      <Table
        columns={[
          'Threshold of the rules',
          ['False positives a day', 'number'],
          ['Marked attacks not blocked', 'number'],
        ]}
        class="compare"
        label="Result by threshold"
      >
        {points.map((point) => (
          <tr key={point.threshold}>
            <th scope="row">
              {score(point.threshold)} {point.threshold === threshold ? '(present)' : ''}
            </th>
            <td class="number">{(point.falsePositives / days).toFixed(1)}</td>
            <td class="number">
              {point.missed} of {attacks}
            </td>
          </tr>
        ))}
      </Table>
      <p class="hint">
        Of the marked calls, as the rules alone would decide them. Where a model runs, it still sees what the rules let
        through.
      </p>
      {attacks === 0 || benign === 0 ? null : <Best points={points} threshold={threshold} days={days} />}
    </>
  );
}

/** The best of the thresholds: fewest errors, the lower one of equals. It is tried and applied on the page for tuning. */
function Best({ points, threshold, days }: Pick<ReviewResult, 'points' | 'threshold' | 'days'>) {
  const errors = (it: ReviewResult['points'][number]): number => it.falsePositives + it.missed;
  const best = [...points].sort((a, b) => errors(a) - errors(b) || a.threshold - b.threshold)[0];
  const present = points.find((it) => it.threshold === threshold);
  if (best === undefined || present === undefined || best.threshold === threshold) return null;
  const aDay = (it: ReviewResult['points'][number]): string => (it.falsePositives / days).toFixed(1);
  return (
    <p>
      With your marks: {aDay(present)} false positives a day at the present threshold, {aDay(best)} at{' '}
      {score(best.threshold)}. <a href={`#/tuning?threshold=${best.threshold}`}>Try {score(best.threshold)}</a>
    </p>
  );
}
