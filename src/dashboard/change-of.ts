import type { VersionCount } from '../store/evidence-store.js';
import type { VersionChange, VersionTotals } from './ports.js';

/** What the newest pair of versions changed against the pair before it; undefined where there was none before. */
export function changeOf(counts: readonly VersionCount[]): VersionChange | undefined {
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
