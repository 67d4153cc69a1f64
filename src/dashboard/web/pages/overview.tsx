import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type {
  AccountState,
  Activity,
  ActivityTotals,
  RecordView,
  RulePart,
  VersionChange,
  VersionTotals,
} from '../../ports.js';
import { clock, count, counted, duration, labelWords, localDay, localTimeShort, share, shortDay } from '../format.js';
import { ruleHref, useLoad, useRuleTitles } from '../hooks.js';
import { callsLeft, trialEnded } from '../parts/banner.js';
import { Empty, Loaded, PageHead, Panel } from '../parts/basics.js';
import { Chart, type Series } from '../parts/chart.js';
import { Segments } from '../parts/fields.js';
import { RecordExcerpt } from '../parts/marked-text.js';
import { Table } from '../parts/table.js';

interface OverviewResponse {
  readonly account: AccountState;
  readonly activity: Activity;
  /** Of the period of the same length before. */
  readonly previous: ActivityTotals;
  /** Latest blocks, newest first; their texts cut to the finding. */
  readonly latest: readonly RecordView[];
  /** Calls of this month that were counted and got no verdict. */
  readonly rejected: number;
  readonly change: VersionChange | null;
  readonly keys: number;
  readonly now: number;
}

const RANGES = { day: '24 hours', week: '7 days', month: '30 days' } as const;
const HOUR = 3_600_000;
const REFRESH_MS = 15_000;

/** Shows recent activity and the remaining quota of the plan. Refreshes itself. */
export function Overview() {
  const [range, setRange] = useState<keyof typeof RANGES>('week');
  const overview = useLoad<OverviewResponse>(`/overview?range=${range}`, REFRESH_MS);
  return (
    <>
      <PageHead title="Overview" lead="What was screened, what was blocked, and what is left. Refreshes itself.">
        <Segments legend="Period" value={range} onValue={setRange} options={RANGES} />
      </PageHead>
      <Loaded of={overview}>{(value) => <Body {...value} period={RANGES[range]} />}</Loaded>
    </>
  );
}

function Body({ period, ...overview }: OverviewResponse & { period: string }) {
  const { account, activity, previous, latest, rejected, change, keys, now } = overview;
  const steps = activity.steps;
  const sum = (of: 'calls' | 'blocks' | 'modelErrors'): number => steps.reduce((total, step) => total + step[of], 0);
  const [calls, blocks, modelErrors] = [sum('calls'), sum('blocks'), sum('modelErrors')];
  const times = useMemo(() => steps.map(({ time }) => time), [steps]);
  const callSeries = useMemo(
    (): readonly Series[] => [
      { name: 'Allowed', colour: '--chart-1', values: steps.map((it) => it.calls - it.blocks) },
      { name: 'Blocked', colour: '--chart-2', values: steps.map((it) => it.blocks) },
    ],
    [steps],
  );
  const latencySeries = useMemo(
    (): readonly Series[] => [
      { name: 'p50', colour: '--chart-1', values: steps.map((it) => it.latency?.p50 ?? null) },
      { name: 'p95', colour: '--chart-3', values: steps.map((it) => it.latency?.p95 ?? null) },
      { name: 'p99', colour: '--chart-2', values: steps.map((it) => it.latency?.p99 ?? null) },
    ],
    [steps],
  );
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  const moment = (time: number): string => (step >= 24 * HOUR ? shortDay(time) : `${shortDay(time)}, ${clock(time)}`);
  const worst = Math.max(0, ...steps.map((it) => it.latency?.p99 ?? 0));
  const stepWords = step >= 24 * HOUR ? 'by day' : step === HOUR ? 'by hour' : `by ${step / HOUR} hours`;
  return (
    <>
      <dl class="figures">
        <Figure name="Calls" value={count(calls)} note={trend(calls, previous.calls, period)} />
        <Figure
          name="Blocked"
          value={count(blocks)}
          note={`${share(blocks, calls)} of calls${previous.calls === 0 ? '' : `; ${share(previous.blocks, previous.calls)} before`}`}
        />
        <Figure
          name="Model errors"
          value={count(modelErrors)}
          note={modelErrors > 0 ? 'decided by the rules' : 'none'}
        />
        <Figure name="Rejected requests" value={count(rejected)} note="this month: malformed or failed; they count" />
        <Quota account={account} now={now} />
      </dl>
      {calls === 0 ? (
        <Empty title="No calls in this period.">
          <p>
            {keys === 0 ? (
              <>
                Next: <a href="#/keys">create a key</a> and send the first text,{' '}
              </>
            ) : (
              <>Send a text with your key, </>
            )}
            or try one in the <a href="#/playground">playground</a>.
          </p>
        </Empty>
      ) : (
        <div class="columns">
          <Panel title="Allowed and blocked calls" aside={<span class="hint">{stepWords}</span>}>
            <Chart
              label={`${count(calls)} calls, ${count(blocks)} of them blocked, ${stepWords}`}
              kind="stack"
              times={times}
              series={callSeries}
              shown={count}
              moment={moment}
            />
          </Panel>
          <Panel title="Latency, ms" aside={<span class="hint">logarithmic scale</span>}>
            <Chart
              label={`Latency at the 50th, 95th and 99th percentile; at most ${duration(worst)}`}
              kind="lines"
              times={times}
              series={latencySeries}
              shown={duration}
              moment={moment}
            />
          </Panel>
          <Panel title="Latest blocks" aside={<a href="#/evidence?verdict=block">All blocks</a>}>
            <LatestBlocks records={latest} />
          </Panel>
          <div>
            <Panel title="Blocks by rule">
              <ByRule activity={activity} />
            </Panel>
            <Panel title="What the last version changed">
              <Change change={change} />
            </Panel>
          </div>
        </div>
      )}
    </>
  );
}

/** Against the period before: `+12 % on the 7 days before`. */
function trend(now: number, before: number, period: string): string {
  if (before === 0) return `none in the ${period} before`;
  const change = Math.round((100 * (now - before)) / before);
  return `${change > 0 ? '+' : change < 0 ? '−' : '±'}${Math.abs(change)} % on the ${period} before`;
}

function LatestBlocks({ records }: { records: readonly RecordView[] }) {
  const titleOf = useRuleTitles();
  if (records.length === 0) return <p class="hint">Nothing was blocked yet.</p>;
  return (
    <ul class="latest">
      {records.map((record) => (
        <li key={record.id}>
          <p class="hint">
            <time dateTime={record.time}>{localTimeShort(Date.parse(record.time))}</time> ·{' '}
            {titleOf(record.verdict.rule)}
            {record.label === null ? null : <span class="badge label">⚑ {labelWords[record.label]}</span>}
          </p>
          <a href={`#/evidence/${record.id}`}>
            <RecordExcerpt record={record} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function Figure({ name, value, note }: { name: string; value: string; note?: string }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd class="value">{value}</dd>
      {note === undefined ? null : <dd class="note">{note}</dd>}
    </div>
  );
}

function Quota({ account, now }: { account: AccountState; now: number }) {
  const { plan, usedThisMonth, overageLeft, trialEnds, monthEnds } = account;
  const ended = trialEnded(account, now);
  const days = trialEnds === null ? 0 : Math.ceil((trialEnds - now) / 86_400_000);
  const notes = ended
    ? ['The trial has ended']
    : [
        `${count(usedThisMonth)} of ${count(plan.callsPerMonth)} used (${plan.title})`,
        overageLeft > 0 ? `${counted(overageLeft, 'overage call', 'overage calls')}` : '',
        trialEnds === null ? `renews ${localDay(monthEnds)}` : `${counted(days, 'trial day', 'trial days')} left`,
      ];
  return <Figure name="Calls left" value={count(callsLeft(account, now))} note={notes.filter(Boolean).join(' · ')} />;
}

function ByRule({ activity }: { activity: Activity }) {
  const titleOf = useRuleTitles();
  const most = activity.byRule[0]?.blocks ?? 1;
  if (activity.byRule.length === 0) return <p class="hint">Nothing was blocked in this period.</p>;
  return (
    <ul class="bars">
      {activity.byRule.slice(0, 10).map(({ rule, blocks }) => (
        <li key={rule}>
          <a href={ruleHref(rule)} title={rule}>
            {titleOf(rule)}
          </a>
          <span class="number">{count(blocks)}</span>
          <span class="bar" aria-hidden="true">
            <span style={{ width: `${(100 * blocks) / most}%` }} />
          </span>
        </li>
      ))}
    </ul>
  );
}

const MOST_RULES = 12;

/** Blocks and false positives before and after the last change of rules or model, in total and by rule. */
function Change({ change }: { change: VersionChange | null }) {
  const titleOf = useRuleTitles();
  if (change === null)
    return (
      <p class="hint">
        Nothing to compare yet: all calls had the same versions of rules and model. After the next update this shows
        what was blocked and what members marked, before and after.
      </p>
    );
  const { before, after, rules } = change;
  return (
    <>
      <p class="hint">
        {before.rulesVersion === after.rulesVersion ? 'Another model' : 'Other rules'}
        {before.rulesVersion !== after.rulesVersion && before.mlVersion !== after.mlVersion ? ' and another model' : ''}{' '}
        since {localTimeShort(after.firstAt)}. Shares are of all calls with that version.
      </p>
      <Table
        columns={[
          ['What', 'unseen'],
          ['Before', 'number'],
          ['After', 'number'],
        ]}
        class="compare"
        label="Before and after"
      >
        <Row name="Rules" cell={(it) => <code>{it.rulesVersion}</code>} {...change} />
        <Row name="Model" cell={(it) => <code>{it.mlVersion}</code>} {...change} />
        <Row name="Calls" cell={(it) => count(it.calls)} {...change} />
        <Row name="Blocked" cell={(it) => `${count(it.blocks)} · ${share(it.blocks, it.calls)}`} {...change} />
        <Row name="Marked as false positives" cell={(it) => count(it.falseAlarms)} {...change} />
        <Row name="Marked as missed attacks" cell={(it) => count(it.missedAttacks)} {...change} />
        {rules.slice(0, MOST_RULES).map(({ rule, before: old, after: now }, index) => (
          <tr key={rule} class={index === 0 ? 'group' : undefined}>
            <th scope="row">
              <a href={ruleHref(rule)} title={rule}>
                {titleOf(rule)}
              </a>
            </th>
            <Part part={old} of={before} />
            <Part part={now} of={after} />
          </tr>
        ))}
      </Table>
      {rules.length > MOST_RULES ? (
        <p class="hint">{counted(rules.length - MOST_RULES, 'rule', 'rules')} moved less.</p>
      ) : null}
    </>
  );
}

function Part({ part, of }: { part: RulePart; of: VersionTotals }) {
  return (
    <td class="number">
      {count(part.blocks)} · {share(part.blocks, of.calls)}
      {part.falseAlarms === 0 ? null : (
        <div class="hint">{counted(part.falseAlarms, 'false positive', 'false positives')}</div>
      )}
    </td>
  );
}

interface RowProps extends VersionChange {
  readonly name: string;
  readonly cell: (totals: VersionTotals) => JSX.Element | string;
}

function Row({ name, cell, before, after }: RowProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">{cell(before)}</td>
      <td class="number">{cell(after)}</td>
    </tr>
  );
}
