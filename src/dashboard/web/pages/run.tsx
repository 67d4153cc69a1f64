import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RecordPage, RecordView } from '../../ports.js';
import { channelWords, count, counted, localTime, localTimeShort, utcTime } from '../format.js';
import { runHref, usePages } from '../hooks.js';
import { Button, Empty, Failure, PageHead, Panel, VerdictBadge, Waiting } from '../parts/basics.js';
import { FlowDecision, FlowSentence, SourceLink, SourceWords } from '../parts/flows.js';
import { InlineText, MarkedText, PassageExcerpt, RecordExcerpt } from '../parts/marked-text.js';
import { rememberList } from '../record-list.js';
import {
  argumentName,
  type FlowLine,
  type FlowPlace,
  laneLines,
  passageName,
  type RunPassage,
  type RunStep,
  runSteps,
} from '../run-steps.js';

const PAGE_LENGTH = 100;

/** One run as a time line, from the prompt over results to calls, with the flow of values drawn beside it. */
export function Run({ id }: { id: string }) {
  const query = new URLSearchParams({ run: id }).toString();
  const path = `/evidence?${query}&limit=${PAGE_LENGTH}`;
  const { load, pages, action, more } = usePages<RecordPage>(path, ({ next }) =>
    next === null ? undefined : `${path}&cursor=${next}`,
  );
  const records = pages.flatMap((page) => page.records);
  const ids = records.map((record) => record.id);
  useEffect(() => {
    if (ids.length > 0) rememberList('Run', runHref(id), ids);
  }, [ids.join()]);
  return (
    <>
      <nav class="actions back" aria-label="Records">
        <a href="#/evidence">← Evidence</a>
        <a href={`#/evidence?${query}`}>These records as a list</a>
      </nav>
      <PageHead title="Run" lead={id} />
      {load.value === undefined ? (
        <Waiting {...load} />
      ) : records.length === 0 ? (
        <Empty title="No record of this run.">
          <p>No call named it, or retention has removed its records.</p>
        </Empty>
      ) : (
        <>
          <Task records={records} />
          {more === undefined ? null : (
            <p class="actions">
              <Button disabled={action.busy} onClick={more}>
                Show earlier records
              </Button>
              <span class="hint">The newest {count(records.length)} are shown.</span>
            </p>
          )}
          <Failure error={action.error} />
          <TimeLine steps={runSteps(records)} />
        </>
      )}
    </>
  );
}

/** The newest task that a call named, where the prompt itself isn't one of the records. */
function Task({ records }: { records: readonly RecordView[] }) {
  const task = records.find((record) => record.task !== undefined)?.task;
  if (task === undefined || records.some(({ channel }) => channel === 'user')) return null;
  return (
    <Panel title="Task">
      {task.text === null ? (
        <p class="hint">This account keeps no text of it.</p>
      ) : (
        <MarkedText text={task.text} spans={[]} label="Task of the user" />
      )}
    </Panel>
  );
}

function TimeLine({ steps }: { steps: readonly RunStep[] }) {
  const [current, setCurrent] = useState<string>();
  const list = useRef<HTMLDivElement>(null);
  const lines = useFlowLines(list, steps);
  const flows = steps.flatMap(({ record }) => record.run?.flow?.flows ?? []);
  const suspicious = flows.filter(({ level }) => level === 'suspicious').length;
  const watch: Watch = { current, onCurrent: setCurrent };
  const shown = new Set(steps.map(({ record }) => record.id));
  return (
    <section class="panel" aria-label="Time line">
      <p>
        {flows.length === 0
          ? 'No value from data was found in the arguments of a call.'
          : `${counted(flows.length, 'value', 'values')} from data in the arguments of calls, ${count(suspicious)} of them from suspicious passages.`}
      </p>
      {flows.length === 0 ? null : (
        <p aria-hidden="true">
          {(['suspicious', 'foreign'] as const).map((level) => (
            <span key={level} class="legend">
              <span class={`stroke flow-stroke ${level}`} /> {level}
            </span>
          ))}
        </p>
      )}
      <div class="run" ref={list}>
        <FlowLines lines={lines} current={current} />
        <ol>
          {steps.map((step, index) => (
            <Step key={step.record.id} step={step} number={index + 1} shown={shown} {...watch} />
          ))}
        </ol>
      </div>
    </section>
  );
}

/** The flow that the reader looks at, by its argument's name. */
interface Watch {
  readonly current: string | undefined;
  readonly onCurrent: (key: string | undefined) => void;
}

const MOST_LANES = 5;
const LANE_WIDTH = 8;

/** Measures where passages and arguments stand, again with each change of the list's size. */
function useFlowLines(
  list: { readonly current: HTMLDivElement | null },
  steps: readonly RunStep[],
): readonly FlowLine[] {
  const [lines, setLines] = useState<readonly FlowLine[]>([]);
  useLayoutEffect(() => {
    const box = list.current;
    if (box === null) return;
    const measure = (): void => {
      const top = box.getBoundingClientRect().top;
      const middleOf = (name: string): number | undefined => {
        const place = document.getElementById(name)?.getBoundingClientRect();
        return place === undefined ? undefined : Math.round(place.top - top + Math.min(place.height / 2, 14));
      };
      const found = steps.flatMap(({ record, passages }) =>
        passages.flatMap(({ span, into }) =>
          into.flatMap((place) => {
            const from = middleOf(passageName(record.id, span));
            const to = middleOf(argumentName(place));
            return from === undefined || to === undefined
              ? []
              : [{ key: argumentName(place), level: place.flow.level, from, to }];
          }),
        ),
      );
      const laid = laneLines(found, MOST_LANES);
      setLines((now) => (JSON.stringify(now) === JSON.stringify(laid) ? now : laid));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, [steps.map(({ record }) => record.id).join()]);
  return lines;
}

/** The flows drawn in the margin. The lists beside them say the same in words. */
function FlowLines({ lines, current }: { lines: readonly FlowLine[]; current: string | undefined }) {
  const width = (1 + Math.max(-1, ...lines.map(({ lane }) => lane))) * LANE_WIDTH + 10;
  return (
    <svg class="flow-lines" aria-hidden="true" width={width} height="100%">
      {lines.map(({ key, level, from, to, lane }) => {
        const x = width - 12 - lane * LANE_WIDTH;
        const turn = to > from ? 6 : -6;
        const path = `M${width} ${from} H${x + 6} Q${x} ${from} ${x} ${from + turn} V${to - turn} Q${x} ${to} ${x + 6} ${to} H${width - 5}`;
        return (
          <g key={key} class={key === current ? `flow-line ${level} current` : `flow-line ${level}`}>
            <path d={path} />
            <path class="tip" d={`M${width - 1} ${to} l-6 -4 v8 z`} />
          </g>
        );
      })}
    </svg>
  );
}

interface StepProps extends Watch {
  readonly step: RunStep;
  /** From 1. */
  readonly number: number;
  readonly shown: ReadonlySet<string>;
}

function Step({ step, number, shown, ...watch }: StepProps) {
  const { record, passages } = step;
  const time = Date.parse(record.time);
  return (
    <li class="step">
      <div class="step-head">
        <h2>
          {number}. <StepTitle record={record} />
        </h2>
        <VerdictBadge verdict={record.verdict.verdict} />
        <time class="hint" dateTime={record.time} title={`${localTime(time)} · ${utcTime(time)}`}>
          {localTimeShort(time)}
        </time>
        <a href={`#/evidence/${record.id}`} aria-label={`Record of step ${number}`}>
          Record
        </a>
      </div>
      {passages.length === 0 ? (
        <div class="step-text">
          <RecordExcerpt record={record} />
        </div>
      ) : (
        passages.map((passage) => (
          <Passage key={`${passage.span.start} ${passage.span.end}`} record={record} passage={passage} {...watch} />
        ))
      )}
      <FlowDecision record={record} />
      <Arguments record={record} shown={shown} {...watch} />
    </li>
  );
}

function StepTitle({ record: { channel, run } }: { record: RecordView }) {
  const words = { ...channelWords, user: 'prompt', unknown: 'text' }[channel];
  const named = words.replace(/^./, (it) => it.toUpperCase());
  return (
    <>
      {named}
      {run?.tool === undefined ? null : (
        <>
          : <InlineText text={run.tool} />
        </>
      )}
    </>
  );
}

/** Props that make an element the current one, by mouse and focus. */
function watched(name: string, key: string, { current, onCurrent }: Watch) {
  return {
    id: name,
    tabIndex: -1,
    class: key === current ? 'flow-end current' : 'flow-end',
    onFocusCapture: () => onCurrent(key),
    onMouseEnter: () => onCurrent(key),
    onMouseLeave: () => onCurrent(undefined),
  };
}

function jumpTo(name: string): void {
  const place = document.getElementById(name);
  place?.scrollIntoView({ block: 'center' });
  place?.focus({ preventScroll: true });
}

function Passage({ record, passage: { span, into }, ...watch }: { record: RecordView; passage: RunPassage } & Watch) {
  const [first] = into;
  const { text } = record.input;
  return (
    <div {...watched(passageName(record.id, span), first === undefined ? '' : argumentName(first), watch)}>
      {text === null ? (
        <p class="hint">
          Characters {count(span.start)}–{count(span.end)}; this account keeps no text of it.
        </p>
      ) : (
        <PassageExcerpt text={text} span={span} />
      )}
      <p class="hint">
        Goes into{' '}
        {into.map((place, at) => (
          <span key={argumentName(place)}>
            {at === 0 ? '' : ', '}
            <Button class="link" onClick={() => jumpTo(argumentName(place))}>
              <PlaceWords place={place} />
            </Button>
          </span>
        ))}
      </p>
    </div>
  );
}

function PlaceWords({ place: { flow, tool } }: { place: FlowPlace }) {
  return (
    <>
      {flow.argument === '' ? 'the arguments' : flow.argument} of <InlineText text={tool ?? 'a call'} />
    </>
  );
}

function Arguments({ record, shown, ...watch }: Pick<StepProps, 'shown'> & { record: RecordView } & Watch) {
  const flows = record.run?.flow?.flows ?? [];
  if (flows.length === 0) return null;
  return (
    <ul class="flows">
      {flows.map((flow, index) => {
        const name = argumentName({ call: record.id, index });
        const { evidenceId = '', span } = flow.source;
        return (
          <li key={name} {...watched(name, name, watch)}>
            <FlowSentence record={record} flow={flow}>
              {shown.has(evidenceId) ? (
                <Button class="link" onClick={() => jumpTo(passageName(evidenceId, span))}>
                  <SourceWords source={flow.source} />
                </Button>
              ) : (
                <SourceLink source={flow.source} />
              )}
            </FlowSentence>
          </li>
        );
      })}
    </ul>
  );
}
