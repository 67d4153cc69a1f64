import type { JSX } from 'preact';
import type { RecordView } from '../../ports.js';
import { count, score } from '../format.js';
import { argumentText, type RecordedFlow } from '../run-steps.js';
import { Panel } from './basics.js';
import { InlineText } from './marked-text.js';

const SHOWN_LENGTH = 200;

const actionWords = {
  allow: 'No value from data.',
  report: 'The policy only reports it.',
  ask: 'The policy asks a person.',
  deny: 'The policy denies the call.',
} as const;

/** Words for the source of a tool's effect. */
const whyWords = {
  policy: 'by the policy',
  host: 'as the caller says',
  annotation: 'by its annotations',
  name: 'by its name',
  'unknown name': 'since its name says nothing',
} as const;

export function FlowDecision({ record }: { record: RecordView }) {
  const flow = record.run?.flow;
  if (flow === undefined) return null;
  return (
    <p>
      <span class={flow.action === 'deny' ? 'badge block' : 'badge'}>{flow.action}</span> {actionWords[flow.action]}{' '}
      <span class="hint">
        Effect of the tool: {flow.effect.effect}, {whyWords[flow.effect.why]}.
      </span>
    </p>
  );
}

interface SourceProps {
  readonly source: RecordedFlow['source'];
}

/** The tool, or what stands for it, behind a flow. */
export function SourceWords({ source: { tool } }: SourceProps) {
  return tool === undefined ? (
    <>a document</>
  ) : (
    <>
      the result of <InlineText text={tool} />
    </>
  );
}

/** The same, with a link to its record where the run still knows it. */
export function SourceLink({ source }: SourceProps) {
  const words = <SourceWords source={source} />;
  return source.evidenceId === undefined ? words : <a href={`#/evidence/${source.evidenceId}`}>{words}</a>;
}

/** The values in a call's arguments, for the page of its record. */
export function FlowPanel({ record }: { record: RecordView }) {
  const flow = record.run?.flow;
  if (flow === undefined) return null;
  return (
    <Panel title="Values from data">
      <FlowDecision record={record} />
      {flow.flows.length === 0 ? null : (
        <ul class="flows">
          {flow.flows.map((each) => (
            <li key={`${each.argument} ${each.kind} ${each.source.evidenceId} ${each.source.span.start}`}>
              <FlowSentence record={record} flow={each}>
                <SourceLink source={each.source} />
              </FlowSentence>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** One flow in words: argument, value as far as it is kept, and where it comes from. `source` stands for the source. */
export function FlowSentence({
  record,
  flow: { argument, kind, level, source },
  children,
}: {
  record: RecordView;
  flow: RecordedFlow;
  children: JSX.Element;
}) {
  const value = record.input.text === null ? undefined : argumentText(record.input.text, argument);
  return (
    <>
      <p class="flow-head">
        <code>{argument === '' ? 'the arguments' : argument}</code> <span class={`badge level ${level}`}>{level}</span>{' '}
        {value === undefined ? null : (
          <code class="value">
            <InlineText text={value.slice(0, SHOWN_LENGTH)} />
          </code>
        )}
      </p>
      <p class="hint">
        {kind === 'words' ? 'Four or more words in a row' : `A value (${kind})`} from {children}, characters{' '}
        {count(source.span.start)}–{count(source.span.end)}
        {source.probability === undefined ? '' : `, probability ${score(source.probability)}`}. The user never gave it.
      </p>
    </>
  );
}
