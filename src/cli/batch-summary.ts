import { latencyAt } from '../batch/batch-counts.js';
import type { BatchResult } from '../batch/run-batch.js';

/** The summary of a batch as JSON. Latencies are upper bounds of power-of-two buckets, milliseconds, of the rows scored. */
export const batchSummary = (result: BatchResult, seconds: number): Readonly<Record<string, unknown>> => {
  const { counts } = result;
  const { rows, blocked, bad, repeated, fallbacks } = counts;
  return {
    event: 'summary',
    rows,
    blocked,
    allowed: rows - blocked - bad,
    bad,
    repeated,
    model_fallbacks: fallbacks,
    resumed_rows: result.resumedRows,
    rules: Object.fromEntries(Object.entries(counts.rules).sort(([, a], [, b]) => b - a)),
    latency_ms: { p50: latencyAt(counts, 0.5), p95: latencyAt(counts, 0.95), p99: latencyAt(counts, 0.99) },
    seconds,
    rows_per_second: Math.round((rows - result.resumedRows) / seconds),
    scorers_lost: result.scorersLost,
    mode: result.mode,
    rules_version: result.rulesVersion,
    ml_version: result.mlVersion,
  };
};

/** The same in a few lines for a person. */
export const summaryText = (result: BatchResult, seconds: number): string => {
  const { counts } = result;
  const { rows, blocked, bad, repeated, fallbacks } = counts;
  const rate = Math.round((rows - result.resumedRows) / seconds);
  const fired = Object.entries(counts.rules).sort(([, a], [, b]) => b - a);
  const shown = fired.slice(0, 5).map(([rule, count]) => `${rule} ${count}`);
  const more = fired.length > shown.length ? [`${fired.length - shown.length} more`] : [];
  const latency = [0.5, 0.95, 0.99].map((share) => `p${share * 100} ${latencyAt(counts, share) ?? '-'}`);
  const odd = [
    [repeated, 'repeated'],
    [result.resumedRows, 'scored before'],
    [fallbacks, 'without the model, which failed'],
    [result.scorersLost, 'scorers lost'],
  ].flatMap(([count, what]) => (Number(count) > 0 ? [`${count} ${what}`] : []));
  return [
    `${rows} rows in ${seconds.toFixed(1)} s, ${rate} a second: ${blocked} blocked, ${rows - blocked - bad} allowed, ${bad} not screened`,
    ...(odd.length > 0 ? [odd.join(', ')] : []),
    ...(fired.length > 0 ? [`blocked by ${[...shown, ...more].join(', ')}`] : []),
    `${latency.join(', ')} ms at most; mode ${result.mode}, rules ${result.rulesVersion}, model ${result.mlVersion}`,
  ].join('\n');
};
