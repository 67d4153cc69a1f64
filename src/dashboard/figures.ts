import { type EvidenceCount, type LatencyCount, latencyAt, type VersionCount } from '../store/evidence-store.js';
import type { Activity, TimeStep, VersionChange, VersionTotals } from './ports.js';

/** The overview's figures. Each step of `[from, to)` is there, empty ones too. */
export function summariseActivity(
  counts: readonly EvidenceCount[],
  latencies: readonly LatencyCount[],
  from: number,
  to: number,
  stepMs: number,
): Activity {
  const steps = Array.from({ length: Math.round((to - from) / stepMs) }, (_, index) => ({
    ...{ time: from + index * stepMs, calls: 0, blocks: 0, modelErrors: 0 },
    took: new Map<number, number>(),
  }));
  const stepAt = (at: number) => steps[Math.floor((at - from) / stepMs)];
  const byRule = new Map<string, number>();
  for (const it of counts) {
    if (it.blocks > 0) byRule.set(it.rule, (byRule.get(it.rule) ?? 0) + it.blocks);
    const step = stepAt(it.at);
    if (step === undefined) continue;
    step.calls += it.calls;
    step.blocks += it.blocks;
    step.modelErrors += it.modelErrors;
  }
  for (const { at, step: took, calls } of latencies) {
    const step = stepAt(at);
    step?.took.set(took, (step.took.get(took) ?? 0) + calls);
  }
  return {
    steps: steps.map(({ took, ...step }) => ({ ...step, latency: computePercentiles(took) })),
    byRule: [...byRule].map(([rule, blocks]) => ({ rule, blocks })).sort((a, b) => b.blocks - a.blocks),
  };
}

/** By nearest rank; null where nothing was counted. */
function computePercentiles(took: ReadonlyMap<number, number>): TimeStep['latency'] {
  const sorted = [...took].sort(([a], [b]) => a - b);
  const calls = sorted.reduce((sum, [, n]) => sum + n, 0);
  if (calls === 0) return null;
  const at = (part: number): number => {
    let left = Math.ceil(calls * part);
    const found = sorted.find(([, n]) => {
      left -= n;
      return left <= 0;
    });
    return latencyAt(found?.[0] ?? 0);
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** What the newest pair of versions changed against the pair before it; undefined where there was none before. */
export function findChange(counts: readonly VersionCount[]): VersionChange | undefined {
  const byPair = new Map<string, readonly VersionCount[]>();
  for (const it of counts) {
    const pair = `${it.rulesVersion} ${it.mlVersion}`;
    byPair.set(pair, [...(byPair.get(pair) ?? []), it]);
  }
  const pairs = [...byPair.values()]
    .map((of) => ({ of, totals: totalsOf(of) }))
    .sort((a, b) => b.totals.firstAt - a.totals.firstAt);
  const [after, before] = pairs;
  if (after === undefined || before === undefined) return undefined;
  const names = new Set([...before.of, ...after.of].map(({ rule }) => rule));
  const counted = (of: readonly VersionCount[], rule: string) => {
    const it = of.find((one) => one.rule === rule);
    return { blocks: it?.blocks ?? 0, falseAlarms: it?.falseAlarms ?? 0, missedAttacks: it?.missedAttacks ?? 0 };
  };
  const rules = [...names].map((rule) => ({
    rule,
    before: counted(before.of, rule),
    after: counted(after.of, rule),
  }));
  const moved = (it: (typeof rules)[number]): number =>
    Math.abs(it.after.blocks / after.totals.calls - it.before.blocks / before.totals.calls);
  return {
    before: before.totals,
    after: after.totals,
    rules: rules.filter(({ rule }) => rule !== 'none').sort((a, b) => moved(b) - moved(a)),
  };
}

function totalsOf(of: readonly VersionCount[]): VersionTotals {
  const sum = (name: 'calls' | 'blocks' | 'falseAlarms' | 'missedAttacks') =>
    of.reduce((total, it) => total + it[name], 0);
  return {
    rulesVersion: of[0]?.rulesVersion ?? '',
    mlVersion: of[0]?.mlVersion ?? '',
    firstAt: Math.min(...of.map(({ firstAt }) => firstAt)),
    lastAt: Math.max(...of.map(({ lastAt }) => lastAt)),
    ...{ calls: sum('calls'), blocks: sum('blocks') },
    ...{ falseAlarms: sum('falseAlarms'), missedAttacks: sum('missedAttacks') },
  };
}
