import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { AccountState, Activity } from '../../ports.js';
import { count, localDay, share } from '../format.js';
import { Empty, Moment, PageHead, Panel, Waiting } from '../parts/basics.js';
import { Chart } from '../parts/chart.js';
import { useLoad } from '../use-load.js';

interface OverviewAnswer {
  readonly account: AccountState;
  readonly activity: Activity;
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

function Body({ account, activity, keys, now }: OverviewAnswer): JSX.Element {
  const steps = activity.steps;
  const sum = (of: 'calls' | 'blocks' | 'modelErrors'): number => steps.reduce((total, step) => total + step[of], 0);
  const calls = sum('calls');
  const times = useMemo(() => steps.map(({ time }) => time), [steps]);
  const callSeries = useMemo(
    () => [
      { name: 'Calls', colour: '--chart-1', values: steps.map((it) => it.calls) },
      { name: 'Blocks', colour: '--chart-2', values: steps.map((it) => it.blocks) },
      { name: 'Model errors', colour: '--chart-3', values: steps.map((it) => it.modelErrors) },
    ],
    [steps],
  );
  const latencySeries = useMemo(
    () => [
      { name: 'Mean, ms', colour: '--chart-1', values: steps.map((it) => it.latencyMean) },
      { name: 'Highest, ms', colour: '--chart-2', values: steps.map((it) => it.latencyMax) },
    ],
    [steps],
  );
  return (
    <>
      <dl class="figures">
        <Figure name="Calls" value={count(calls)} />
        <Figure name="Blocks" value={count(sum('blocks'))} note={`${share(sum('blocks'), calls)} of calls`} />
        <Figure
          name="Model errors"
          value={count(sum('modelErrors'))}
          note={sum('modelErrors') > 0 ? 'answered by the rules' : 'none'}
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
          <Panel title="Calls over time">
            <Chart
              label={`${count(calls)} calls, ${count(sum('blocks'))} blocks, ${count(sum('modelErrors'))} model errors`}
              times={times}
              series={callSeries}
            />
          </Panel>
          <Panel title="Latency">
            <Chart label="Mean and highest latency in milliseconds" times={times} series={latencySeries} />
          </Panel>
          <Panel title="Blocks by rule">
            <ByRule activity={activity} />
          </Panel>
          <Panel title="Versions">
            <Versions activity={activity} />
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

function Versions({ activity }: { activity: Activity }): JSX.Element {
  const [latest, before] = activity.versions;
  const change =
    latest === undefined || before === undefined
      ? 'One pair of versions answered them all.'
      : `Since ${localDay(latest.firstSeen)}: ${share(latest.blocks, latest.calls)} blocked, before that ${share(before.blocks, before.calls)}.`;
  return (
    <>
      <p class="hint">
        The newest {count(activity.sampled)} records. {change}
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Rules</th>
              <th scope="col">Model</th>
              <th scope="col">Since</th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Blocked
              </th>
            </tr>
          </thead>
          <tbody>
            {activity.versions.map((it) => (
              <tr key={`${it.rulesVersion} ${it.mlVersion}`}>
                <td>
                  <code>{it.rulesVersion}</code>
                </td>
                <td>
                  <code>{it.mlVersion}</code>
                </td>
                <td>
                  <Moment time={it.firstSeen} />
                </td>
                <td class="number">{count(it.calls)}</td>
                <td class="number">{share(it.blocks, it.calls)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
