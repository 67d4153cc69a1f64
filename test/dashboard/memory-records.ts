import type { Activity, RecordFilter, RecordView } from '../../src/dashboard/ports.js';

/** Whether a record fits a filter. */
export function fits(record: RecordView, filter: RecordFilter): boolean {
  const { verdict, label } = record;
  const same = <T>(wanted: T | undefined, has: T): boolean => wanted === undefined || wanted === has;
  return (
    same(filter.verdict, verdict.verdict) &&
    (filter.rule === undefined || filter.rule === '' || verdict.rule === filter.rule) &&
    same(filter.decidedBy, verdict.decided_by) &&
    same(filter.routerLevel, record.router_level) &&
    same(filter.keyId, record.key_id) &&
    same<string | null>(filter.label, label) &&
    (filter.from === undefined || Date.parse(record.time) >= filter.from) &&
    (filter.to === undefined || Date.parse(record.time) < filter.to) &&
    (filter.text === undefined || (record.input.text ?? '').toLowerCase().includes(filter.text.toLowerCase()))
  );
}

/** The overview's figures of some records, newest first. */
export function activityOf(records: readonly RecordView[], from: number, to: number, step: number): Activity {
  const within = records.filter(({ time }) => Date.parse(time) >= from && Date.parse(time) < to);
  const steps = Array.from({ length: Math.round((to - from) / step) }, (_, index) => {
    const time = from + index * step;
    const part = within.filter((record) => Date.parse(record.time) >= time && Date.parse(record.time) < time + step);
    const latencies = part.map(({ verdict }) => verdict.latency_ms);
    return {
      time,
      calls: part.length,
      blocks: part.filter(isBlock).length,
      modelErrors: part.filter(({ model }) => model.verdict === 'error').length,
      latencyMean: part.length === 0 ? null : latencies.reduce((sum, it) => sum + it, 0) / part.length,
      latencyMax: part.length === 0 ? null : Math.max(...latencies),
    };
  });
  const byRule = [...grouped(within.filter(isBlock), ({ verdict }) => verdict.rule)]
    .map(([rule, of]) => ({ rule, blocks: of.length }))
    .sort((a, b) => b.blocks - a.blocks);
  const pairs = [
    ...grouped(within, ({ verdict }) => `${verdict.rules_version} ${verdict.ml_version}`).values(),
  ].flatMap((of) => {
    const first = of.at(-1);
    if (first === undefined) return [];
    const { rules_version: rulesVersion, ml_version: mlVersion } = first.verdict;
    return [
      {
        rulesVersion,
        mlVersion,
        firstSeen: Date.parse(first.time),
        calls: of.length,
        blocks: of.filter(isBlock).length,
      },
    ];
  });
  return { steps, byRule, sampled: within.length, versions: pairs };
}

function isBlock({ verdict }: RecordView): boolean {
  return verdict.verdict === 'block';
}

function grouped(records: readonly RecordView[], by: (record: RecordView) => string): Map<string, RecordView[]> {
  const groups = new Map<string, RecordView[]>();
  for (const record of records) groups.set(by(record), [...(groups.get(by(record)) ?? []), record]);
  return groups;
}
