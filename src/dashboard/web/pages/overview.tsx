import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { AccountState, Activity, VersionChange } from '../../ports.js';
import { clock, count, duration, localDay, share, shortDay } from '../format.js';
import { Empty, PageHead, Panel, Waiting } from '../parts/basics.js';
import { Chart, type Series } from '../parts/chart.js';
import { useLoad } from '../use-load.js';
import { Change } from './change.js';

interface OverviewAnswer {
  readonly account: AccountState;
  readonly activity: Activity;
  readonly change: VersionChange | null;
  readonly keys: number;
  readonly now: number;
}

const ranges = [
  ['day', '24 hours'],
  ['week', '7 days'],
  ['month', '30 days'],
] as const;

/** What happened lately, and what is left of the plan. */
export function Overview(): JSX.Element {
  const [range, setRange] = useState<string>('week');
  const { value, error, again } = useLoad<OverviewAnswer>(`/overview?range=${range}`);
  return (
    <>
      <PageHead title="Overview" lead="What was screened, what was blocked, and what is left.">
        <fieldset class="segments">
          <legend class="unseen">Time</legend>
          {ranges.map(([key, words]) => (
            <button key={key} type="button" aria-pressed={range === key} onClick={() => setRange(key)}>
              {words}
            </button>
          ))}
        </fieldset>
      </PageHead>
      {value === undefined ? <Waiting error={error} again={again} /> : <Body {...value} />}
    </>
  );
}

function Body({ account, activity, change, keys, now }: OverviewAnswer): JSX.Element {
  const steps = activity.steps;
  const sum = (of: 'calls' | 'blocks' | 'modelErrors'): number => steps.reduce((total, step) => total + step[of], 0);
  const calls = sum('calls');
  const times = useMemo(() => steps.map(({ time }) => time), [steps]);
  const callSeries = useMemo(
    (): readonly Series[] => [
      { name: 'Calls', colour: '--chart-1', values: steps.map((it) => it.calls) },
      { name: 'Blocks', colour: '--chart-2', values: steps.map((it) => it.blocks) },
      { name: 'Model errors', colour: '--chart-3', values: steps.map((it) => it.modelErrors) },
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
  const days = (times[1] ?? 0) - (times[0] ?? 0) >= 86_400_000;
  const moment = (time: number): string => (days ? shortDay(time) : `${shortDay(time)}, ${clock(time)}`);
  const worst = Math.max(0, ...steps.map((it) => it.latency?.p99 ?? 0));
  return (
    <>
      <dl class="figures">
        <Figure name="Calls" value={count(calls)} />
        <Figure name="Blocks" value={count(sum('blocks'))} note={`${share(sum('blocks'), calls)} of calls`} />
        <Figure
          name="Model errors"
          value={count(sum('modelErrors'))}
          {...(sum('modelErrors') > 0 ? { note: 'answered by the rules' } : {})}
        />
        <Quota account={account} now={now} />
      </dl>
      {calls === 0 ? (
        <Empty title="No calls in this time.">
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
          <Panel title="Calls">
            <Chart
              label={`${count(calls)} calls, ${count(sum('blocks'))} blocks, ${count(sum('modelErrors'))} model errors`}
              kind="bars"
              times={times}
              series={callSeries}
              shown={count}
              moment={moment}
            />
          </Panel>
          <Panel title="Latency, ms">
            <Chart
              label={`Latency of half, 95 % and 99 % of the calls; at most ${duration(worst)}`}
              kind="lines"
              times={times}
              series={latencySeries}
              shown={duration}
              moment={moment}
            />
          </Panel>
          <Panel title="Blocks by rule">
            <ByRule activity={activity} />
          </Panel>
          <Panel title="What the last version changed">
            <Change change={change} />
          </Panel>
        </div>
      )}
    </>
  );
}

function Figure({ name, value, note }: { name: string; value: string; note?: string }): JSX.Element {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd class="value">{value}</dd>
      {note === undefined ? null : <dd class="note">{note}</dd>}
    </div>
  );
}

function Quota({ account, now }: { account: AccountState; now: number }): JSX.Element {
  const { plan, usedThisMonth, overageLeft, trialEnds, monthEnds } = account;
  const left = Math.max(0, plan.callsPerMonth - usedThisMonth);
  const days = trialEnds === null ? null : Math.max(0, Math.ceil((trialEnds - now) / 86_400_000));
  const notes = [
    `of ${count(plan.callsPerMonth)} (${plan.title})`,
    overageLeft > 0 ? `${count(overageLeft)} overage calls` : '',
    days === null
      ? `renews ${localDay(monthEnds)}`
      : days === 0
        ? 'trial ended'
        : `${days} trial ${days === 1 ? 'day' : 'days'} left`,
  ];
  return <Figure name="Calls left this month" value={count(left)} note={notes.filter(Boolean).join(' · ')} />;
}

function ByRule({ activity }: { activity: Activity }): JSX.Element {
  const most = activity.byRule[0]?.blocks ?? 1;
  if (activity.byRule.length === 0) return <p class="hint">Nothing was blocked in this time.</p>;
  return (
    <ul class="bars">
      {activity.byRule.slice(0, 10).map(({ rule, blocks }) => (
        <li key={rule}>
          <a href={`#/evidence?verdict=block&rule=${encodeURIComponent(rule)}`}>{rule}</a>
          <span class="number">{count(blocks)}</span>
          <span class="bar" aria-hidden="true">
            <span style={{ width: `${(100 * blocks) / most}%` }} />
          </span>
        </li>
      ))}
    </ul>
  );
}
