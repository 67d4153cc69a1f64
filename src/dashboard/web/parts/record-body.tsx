import type { ComponentChildren } from 'preact';
import { chainWords } from '../../../engine/text/chain-words.js';
import type { EvidenceFinding, KeptText } from '../../../evidence/evidence-record.js';
import type { KeyListing, RecordView } from '../../ports.js';
import { channelWords, count, counted, deciderWords, percent, score } from '../format.js';
import { ruleHref, runHref, useLoad, useRuleTitles } from '../hooks.js';
import { Facts, Moment, Panel, VerdictBadge } from './basics.js';
import { FlowPanel } from './flows.js';
import { Excerpt, InlineText, MarkedText } from './marked-text.js';

const MOST_WINDOWS = 20;

const keptWords = {
  whole: 'kept whole',
  masked: 'kept with secrets masked, places as they were',
  hash: 'kept as its SHA-256 only',
} as const;

const levelWords = {
  rules: 'rules only',
  advanced: 'advanced: one model pass',
  deep: 'deep: several windows or decoded views',
} as const;

function KeptHint({ text }: { text: KeptText }) {
  return (
    <span class="hint">
      {counted(text.length, 'character', 'characters')}, {keptWords[text.kept]}
    </span>
  );
}

interface RecordBodyProps {
  readonly record: RecordView;
  readonly traceUrl?: string | undefined;
  readonly children?: ComponentChildren;
}

/** The verdict, the text with its marks, and what is behind them. `children` stand under the verdict. */
export function RecordBody({ record, traceUrl, children }: RecordBodyProps) {
  const { verdict, input, task, model } = record;
  const titleOf = useRuleTitles();
  const spans = [...record.findings.map((it) => it.span), ...(verdict.decided_by === 'ml' ? model.hotspots : [])];
  return (
    <>
      <section class="panel ruling" aria-label="Verdict">
        <p class="ruling-head">
          <VerdictBadge verdict={verdict.verdict} />{' '}
          <span>{verdict.rule === 'none' ? 'Nothing found that blocks.' : titleOf(verdict.rule)}</span>
        </p>
        {verdict.reason === null ? null : <p>{verdict.reason}</p>}
        <p class="hint">{decisionWords(record)}</p>
        {children}
      </section>
      <Panel title="Text" aside={<KeptHint text={input} />}>
        {input.text === null ? (
          <p class="hint">This account keeps no text of it, only its SHA-256 (see Details).</p>
        ) : (
          <MarkedText text={input.text} spans={spans} label="Screened text" />
        )}
      </Panel>
      {task === undefined ? null : (
        <Panel title="Task" aside={<KeptHint text={task} />}>
          {task.text === null ? (
            <p class="hint">This account keeps no text of it, only its SHA-256.</p>
          ) : (
            <MarkedText text={task.text} spans={[]} label="Task of the user" />
          )}
        </Panel>
      )}
      <FlowPanel record={record} />
      <Panel title="Findings of the rules">
        <Scale side="Rules" value={record.rules.score} threshold={record.rules.threshold} />
        <Findings findings={record.findings} text={input.text} />
        {record.shadow_findings.length === 0 ? null : (
          <details>
            <summary>
              {counted(record.shadow_findings.length, 'finding', 'findings')} of experimental rules, which do not count
            </summary>
            <Findings findings={record.shadow_findings} text={input.text} />
          </details>
        )}
      </Panel>
      <Panel title="Model">
        <ModelSide record={record} />
      </Panel>
      <Unseen parts={record.unseen} />
      <Details record={record} traceUrl={traceUrl} />
    </>
  );
}

function Unseen({ parts }: { parts: RecordView['unseen'] }) {
  if (parts.length === 0) return null;
  return (
    <Panel title="Not read in every way">
      <ul>
        {parts.map((it) => (
          <li key={`${it.by} ${it.span.start}`}>
            Characters {count(it.span.start)}–{count(it.span.end)} by {it.by}: limit {it.limit}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Details({ record, traceUrl }: Pick<RecordBodyProps, 'record' | 'traceUrl'>) {
  const { verdict, input, run, trace_id: traceId } = record;
  return (
    <Panel title="Details">
      <Facts
        of={{
          Time: <Moment time={Date.parse(record.time)} />,
          Rule: <code>{verdict.rule}</code>,
          'Decided by': deciderWords[verdict.decided_by],
          'Router level': levelWords[record.router_level],
          Channel: channelWords[record.channel],
          Mode: verdict.mode,
          Latency: `${verdict.latency_ms} ms`,
          'Rules version': <code>{verdict.rules_version}</code>,
          'Model version': <code>{verdict.ml_version}</code>,
          Overlay: overlayWords(record),
          Key: record.key_id === null ? 'none: from the playground' : <KeyName id={record.key_id} />,
          Run: run && <a href={runHref(run.id)}>{run.id}</a>,
          Tool: run?.tool !== undefined && <InlineText text={run.tool} />,
          Trace: traceId !== undefined && <TraceLink id={traceId} url={traceUrl} />,
        }}
      />
      <details>
        <summary>Digests</summary>
        <Facts
          isWide
          of={{
            'Replay digest': <code>{record.replay_digest}</code>,
            'SHA-256 of the text': <code>{input.sha256}</code>,
          }}
        />
      </details>
    </Panel>
  );
}

function overlayWords({ settings: { overlay, operating_point: point } }: RecordView): string {
  const version = overlay === undefined ? 'the server’s own setting' : `version ${overlay}`;
  return point == null ? version : `${version}, operating point ${point}`;
}

function decisionWords({ rules, model, verdict }: RecordView): string {
  const rulesSide = `the rules scored ${score(rules.score)} (they block from ${score(rules.threshold)})`;
  if (model.verdict === 'error') return `Decided by the rules, as the model failed: ${rulesSide}.`;
  if (model.score === null || model.verdict === 'off') return `Decided by the rules: ${rulesSide}.`;
  const modelSide = `the model gave ${percent(model.score)} (it blocks from ${percent(verdict.ml_threshold)})`;
  if (verdict.decided_by === 'ml' && rules.score >= rules.threshold)
    return `Cleared by the model: ${rulesSide}, but they are not certain, and ${modelSide}.`;
  if (verdict.decided_by === 'ml')
    return `Decided by the model: ${rulesSide}, so the model was asked, and ${modelSide}.`;
  return `Decided by the rules: ${rulesSide}; ${modelSide}${verdict.mode === 'shadow' ? ', in shadow mode, which does not count' : ''}.`;
}

function KeyName({ id }: { id: string }) {
  const keys = useLoad<{ readonly keys: readonly KeyListing[] }>('/keys').value?.keys ?? [];
  const name = keys.find((key) => key.id === id)?.name;
  return (
    <a href={`#/evidence?keyId=${encodeURIComponent(id)}`} title={id}>
      {name ?? id}
    </a>
  );
}

function TraceLink({ id, url }: { id: string; url: string | undefined }) {
  if (url === undefined) return <code>{id}</code>;
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {id}
    </a>
  );
}

function Scale({ side, value, threshold }: { side: string; value: number; threshold: number }) {
  const over = value >= threshold;
  return (
    <div class="scale">
      <p>
        {side}: score <strong>{score(value)}</strong>, {over ? 'at or above' : 'below'} the threshold of{' '}
        {score(threshold)}
      </p>
      <div class={over ? 'track over' : 'track'} aria-hidden="true">
        <span class="fill" style={{ width: `${100 * value}%` }} />
        <span class="limit" style={{ left: `${100 * threshold}%` }} />
      </div>
    </div>
  );
}

function Findings({ findings, text }: { findings: readonly EvidenceFinding[]; text: string | null }) {
  const titleOf = useRuleTitles();
  if (findings.length === 0) return <p class="hint">No rule matched.</p>;
  return (
    <ul class="findings">
      {findings.map((it) => {
        const found = text?.slice(it.span.start, Math.min(it.span.end, it.span.start + 200));
        return (
          <li key={`${it.rule} ${it.span.start} ${it.view}`}>
            <p class="finding-head">
              <a href={ruleHref(it.rule)}>{titleOf(it.rule)}</a> <span class="badge">{it.severity}</span>{' '}
              <span class="hint">score {score(it.score)}</span>
            </p>
            {found === undefined ? null : <Excerpt text={found} />}
            <ReadAs finding={it} found={found} />
            <p class="hint">
              <code>{it.rule}</code> · characters {count(it.span.start)}–{count(it.span.end)}
              {it.path === undefined ? null : (
                <>
                  {' '}
                  at <code>{it.path}</code>
                </>
              )}
            </p>
          </li>
        );
      })}
    </ul>
  );
}

function ReadAs({ finding, found }: { finding: EvidenceFinding; found: string | undefined }) {
  if (finding.view === 'raw') return null;
  const { read_as: reading } = finding;
  const plain = finding.chain.every((step) => step === 'fold');
  if (plain && (reading === undefined || reading.toLowerCase() === found?.toLowerCase())) return null;
  const how = chainWords(finding.chain);
  if (reading === undefined) return <p class="read-as">Read {how}.</p>;
  return (
    <div class="read-as">
      <p>Read as:</p>
      <Excerpt text={reading} />
      <p class="hint">{how}</p>
    </div>
  );
}

function ModelSide({ record: { model, verdict } }: { record: RecordView }) {
  if (model.verdict === 'off')
    return (
      <p class="hint">Not asked: {verdict.ml_version === 'off' ? 'no model is in use.' : 'the rules had decided.'}</p>
    );
  if (model.verdict === 'error')
    return <p>The model failed ({model.error ?? 'no reason given'}), so the verdict of the rules stands.</p>;
  return (
    <>
      <Scale side="Model" value={model.score ?? 0} threshold={verdict.ml_threshold} />
      <ul>
        {model.windows.slice(0, MOST_WINDOWS).map((window) => (
          <li key={`${window.view} ${window.span.start} ${window.span.end}`}>
            Characters {count(window.span.start)}–{count(window.span.end)}, view {window.view}:{' '}
            {score(window.probability)}
          </li>
        ))}
      </ul>
      {model.windows.length > MOST_WINDOWS ? (
        <p class="hint">{count(model.windows.length - MOST_WINDOWS)} more windows.</p>
      ) : null}
    </>
  );
}
