import type { FreshProcess } from './fresh-process.js';
import type { HostileReport } from './hostile/time-hostile.js';
import type { Timing } from './measure.js';
import type { Growth, SizeResult } from './sizes.js';

/** Everything that one run of the bench measured. */
export interface BenchRecord {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly loadBefore: number;
  readonly rulesVersion: string;
  readonly rules: number;
  readonly patterns: number;
  readonly corpus: string;
  readonly answersChecked: number;
  readonly sizes: readonly SizeResult[];
  readonly growth: Growth;
  readonly hostile: HostileReport;
  readonly fresh: FreshProcess;
}

const time = (microseconds: number): string =>
  microseconds < 1000 ? `${microseconds.toFixed(1)} µs` : `${(microseconds / 1000).toFixed(2)} ms`;
const timing = (value: Timing): string => `${time(value.p50)} / ${time(value.p95)} / ${time(value.p99)}`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '-'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** The record as a page of Markdown. */
export function recordPage(record: BenchRecord): string {
  const { sizes, growth, hostile, fresh } = record;
  const sizeRows = sizes.map((result) => [
    result.size.toLocaleString('en'),
    String(result.scan.n),
    timing(result.scan),
    timing(result.analyze),
  ]);
  const hostileRows = hostile.results
    .slice(0, 60)
    .map(({ name, scanMs, ratio, verdict }) => [name, `${scanMs.toFixed(2)} ms`, ratio.toFixed(2), verdict]);
  const freshRows = Object.entries(fresh)
    .filter(([name]) => name !== 'memory')
    .map(([name, value]) => [name, timing(value), String(value.n)]);
  return `# Bench, ${record.date}

Commit ${record.commit}, Node ${record.node}, ${record.cores} cores (${record.cpu}), load before ${record.loadBefore.toFixed(2)}.
${record.rules} rules, ${record.patterns} distinct patterns, ${record.rulesVersion}. Texts: ${record.corpus}.
${record.answersChecked} answers checked before the first time was taken. Mode \`rules\`.

## By size (p50 / p95 / p99; every text is another one)

${table(['size', 'n', 'scan', 'analyze'], sizeRows)}

Growth of the median from ${growth.from} to ${growth.to}: exponent ${growth.scan.toFixed(3)} (scan), ${growth.analyze.toFixed(3)} (analyze).

## Hostile texts of ${hostile.size.toLocaleString('en')} characters

Ordinary text of that size: ${hostile.ordinaryMs.toFixed(2)} ms (median of ${hostile.ordinaryTexts} texts, each before and after).
${hostile.results.length} kinds; the dearest ${hostileRows.length}:

${table(['text', 'scan', 'ratio', 'verdict'], hostileRows)}

## Fresh processes (p50 / p95 / p99)

${table(['what', 'wall time', 'n'], freshRows)}

Memory (resident, MiB): ${Object.entries(fresh.memory)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')}.
`;
}
