import type { ComponentChildren, JSX } from 'preact';
import type { EvidenceFinding } from '../../../evidence/evidence-record.js';
import type { KeyListing, RecordView } from '../../ports.js';
import { count, score } from '../format.js';
import { Moment, Panel, VerdictBadge } from '../parts/basics.js';
import { Excerpt, MarkedText } from '../parts/marked-text.js';
import { useLoad } from '../use-load.js';

const mostWindows = 20;

const keptWords = {
  whole: 'kept whole',
  masked: 'kept with secrets masked, places as they were',
  hash: 'kept as its SHA-256 only',
} as const;

const deciderWords = {
  rules: 'rules',
  ml: 'model',
  'ml-error-rules-fallback': 'rules, as the model failed',
} as const;

const levelWords = {
  rules: 'rules alone',
  advanced: 'advanced: one model pass',
  deep: 'deep: several windows or decoded views',
} as const;

/** What was screened, what was said, and why. `children` stand under the verdict. */
export function RecordBody({ record, children }: { record: RecordView; children?: ComponentChildren }): JSX.Element {
  const { verdict, input, model } = record;
  const spans = [...record.findings.map((it) => it.span), ...(verdict.decided_by === 'ml' ? model.hotspots : [])];
  return (
    <>
      <section class="panel ruling" aria-label="Verdict">
        <p class="ruling-head">
          <VerdictBadge verdict={verdict.verdict} /> <span>{verdict.reason ?? 'Nothing was found that blocks.'}</span>
        </p>
        <Scale side={sideWords(record)} value={verdict.score} threshold={verdict.threshold} />
        {children}
        <dl class="facts">
          <Fact name="Time">
            <Moment time={Date.parse(record.time)} />
          </Fact>
          <Fact name="Rule">
            <code>{verdict.rule}</code>
          </Fact>
          <Fact name="Decided by">{deciderWords[verdict.decided_by]}</Fact>
          <Fact name="Router level">{levelWords[record.router_level]}</Fact>
          <Fact name="Channel">{record.channel}</Fact>
          <Fact name="Mode">{verdict.mode}</Fact>
          <Fact name="Latency">{verdict.latency_ms} ms</Fact>
          <Fact name="Rules version">
            <code>{verdict.rules_version}</code>
          </Fact>
          <Fact name="Model version">
            <code>{verdict.ml_version}</code>
          </Fact>
          <Fact name="Key">
            {record.key_id === null ? 'none: from the playground' : <KeyName id={record.key_id} />}
          </Fact>
        </dl>
        <details>
          <summary>Digests</summary>
          <dl class="facts wide">
            <Fact name="Replay digest">
              <code>{record.replay_digest}</code>
            </Fact>
            <Fact name="SHA-256 of the text">
              <code>{input.sha256}</code>
            </Fact>
          </dl>
        </details>
      </section>
      <Panel
        title="Text"
        aside={
          <span class="hint">
            {count(input.length)} characters, {keptWords[input.kept]}
          </span>
        }
      >
        {input.text === null ? (
          <p class="hint">This account kept no text of it; its digest stands above.</p>
        ) : (
          <MarkedText text={input.text} spans={spans} />
        )}
      </Panel>
      <Panel title="Why the rules spoke">
        <Scale side="Rules" value={record.rules.score} threshold={record.rules.threshold} />
        <Findings findings={record.findings} text={input.text} />
        {record.shadow_findings.length === 0 ? null : (
          <details>
            <summary>{record.shadow_findings.length} of experimental rules, which count nothing</summary>
            <Findings findings={record.shadow_findings} text={input.text} />
          </details>
        )}
      </Panel>
      <Panel title="What the model said">
        <ModelSide record={record} />
      </Panel>
      {record.unseen.length === 0 ? null : (
        <Panel title="Not read in every way">
          <ul>
            {record.unseen.map((it) => (
              <li key={`${it.by} ${it.span.start}`}>
                Characters {count(it.span.start)}–{count(it.span.end)} by {it.by}: limit {it.limit}
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function KeyName({ id }: { id: string }): JSX.Element {
  const keys = useLoad<{ readonly keys: readonly KeyListing[] }>('/keys').value?.keys ?? [];
  const name = keys.find((key) => key.id === id)?.name;
  return (
    <a href={`#/evidence?keyId=${encodeURIComponent(id)}`} title={id}>
      {name ?? id}
    </a>
  );
}

function sideWords({ verdict }: RecordView): string {
  return verdict.decided_by === 'ml' ? 'Model' : 'Rules';
}

function Fact({
  name,
  children,
}: {
  name: string;
  children: JSX.Element | string | readonly (string | number)[];
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A score against its threshold, drawn and in words. */
function Scale({ side, value, threshold }: { side: string; value: number; threshold: number }): JSX.Element {
  const over = value >= threshold;
  return (
    <div class="scale">
      <p>
        {side}: score <strong>{score(value)}</strong>, blocks at {score(threshold)}{' '}
        {over ? '(reached)' : '(not reached)'}
      </p>
      <div class={over ? 'track over' : 'track'} aria-hidden="true">
        <span class="fill" style={{ width: `${100 * value}%` }} />
        <span class="limit" style={{ left: `${100 * threshold}%` }} />
      </div>
    </div>
  );
}

function Findings({ findings, text }: { findings: readonly EvidenceFinding[]; text: string | null }): JSX.Element {
  if (findings.length === 0) return <p class="hint">No rule matched.</p>;
  return (
    <ul class="findings">
      {findings.map((it) => (
        <li key={`${it.rule} ${it.span.start} ${it.view}`}>
          <p class="finding-head">
            <a href={`#/evidence?rule=${encodeURIComponent(it.rule)}`}>
              <code>{it.rule}</code>
            </a>{' '}
            <span class="badge">{it.severity}</span> <span class="hint">score {score(it.score)}</span>
          </p>
          <p class="hint">
            Characters {count(it.span.start)}–{count(it.span.end)}, read as {it.view}
            {it.chain.length === 0 ? '' : ` (${it.chain.join(' → ')})`}
            {it.path === undefined ? null : (
              <>
                {' '}
                at <code>{it.path}</code>
              </>
            )}
          </p>
          {text === null ? null : (
            <Excerpt text={text.slice(it.span.start, Math.min(it.span.end, it.span.start + 200))} />
          )}
        </li>
      ))}
    </ul>
  );
}

function ModelSide({ record: { model, verdict } }: { record: RecordView }): JSX.Element {
  if (model.verdict === 'off')
    return (
      <p class="hint">
        It was not asked: {verdict.ml_version === 'off' ? 'there is no model in use.' : 'the rules had decided.'}
      </p>
    );
  if (model.verdict === 'error')
    return <p>It failed ({model.error ?? 'no reason given'}), so the rules’ verdict stands.</p>;
  return (
    <>
      <Scale side="Model" value={model.score ?? 0} threshold={verdict.ml_threshold} />
      <ul>
        {model.windows.slice(0, mostWindows).map((window) => (
          <li key={`${window.view} ${window.span.start} ${window.span.end}`}>
            Characters {count(window.span.start)}–{count(window.span.end)}, read as {window.view}:{' '}
            {score(window.probability)}
          </li>
        ))}
      </ul>
      {model.windows.length > mostWindows ? (
        <p class="hint">{count(model.windows.length - mostWindows)} more windows.</p>
      ) : null}
    </>
  );
}
