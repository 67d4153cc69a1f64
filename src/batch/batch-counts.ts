import type { ScoredRow } from './score-row.js';

/** Totals of a batch so far. */
export interface BatchCounts {
  readonly rows: number;
  readonly blocked: number;
  /** Rows that could not be screened. */
  readonly bad: number;
  /** The first of them: its line and why. */
  readonly firstError: { readonly line: number; readonly error: string } | null;
  /** Rows whose text had come before and wasn't scored again. */
  readonly repeated: number;
  /** Rows that the rules decided because the model failed. */
  readonly fallbacks: number;
  /** Number of rows that each rule blocked. */
  readonly rules: Readonly<Record<string, number>>;
  /** Histogram of latencies: rows by upper bound in milliseconds (0, 1, 2, 4 ...). */
  readonly latency: Readonly<Record<string, number>>;
}

export const NO_COUNTS: BatchCounts = {
  rows: 0,
  blocked: 0,
  bad: 0,
  firstError: null,
  repeated: 0,
  fallbacks: 0,
  rules: {},
  latency: {},
};

export function countRows(scored: readonly ScoredRow[]): BatchCounts {
  const rules: Record<string, number> = {};
  const latency: Record<string, number> = {};
  let firstError: BatchCounts['firstError'] = null;
  const next = { ...NO_COUNTS, rules, latency };
  for (const { row, repeated } of scored) {
    next.rows += 1;
    if ('error' in row) {
      next.bad += 1;
      firstError ??= { line: Number(row.line), error: String(row.error) };
      continue;
    }
    const verdict = row as { verdict: string; rule: string; latency_ms: number; decided_by: string };
    if (repeated) next.repeated += 1;
    else {
      const bucket = verdict.latency_ms === 0 ? 0 : 2 ** Math.ceil(Math.log2(verdict.latency_ms));
      latency[bucket] = (latency[bucket] ?? 0) + 1;
    }
    if (verdict.decided_by === 'ml-error-rules-fallback') next.fallbacks += 1;
    if (verdict.verdict !== 'block') continue;
    next.blocked += 1;
    rules[verdict.rule] = (rules[verdict.rule] ?? 0) + 1;
  }
  return { ...next, firstError };
}

export function addCounts(a: BatchCounts, b: BatchCounts): BatchCounts {
  return {
    rows: a.rows + b.rows,
    blocked: a.blocked + b.blocked,
    bad: a.bad + b.bad,
    firstError: a.firstError ?? b.firstError,
    repeated: a.repeated + b.repeated,
    fallbacks: a.fallbacks + b.fallbacks,
    rules: addEach(a.rules, b.rules),
    latency: addEach(a.latency, b.latency),
  };
}

function addEach(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

/** The bucket (upper bound in milliseconds) that a share of the scored rows doesn't exceed; null without rows. */
export function latencyAt(counts: BatchCounts, share: number): number | null {
  const buckets = Object.entries(counts.latency).map(([bound, rows]) => [Number(bound), rows] as const);
  const total = buckets.reduce((sum, [, rows]) => sum + rows, 0);
  let seen = 0;
  for (const [bound, rows] of buckets.sort(([a], [b]) => a - b)) {
    seen += rows;
    if (seen >= share * total) return bound;
  }
  return null;
}
