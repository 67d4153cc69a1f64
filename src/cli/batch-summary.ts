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

/** The same in one line for a person. */
export const summaryLine = ({ counts: { rows, blocked, bad } }: BatchResult, seconds: number): string =>
  `${rows} rows in ${seconds.toFixed(1)} s: ${blocked} blocked, ${rows - blocked - bad} allowed, ${bad} not screened`;
