import type { ScoredRow } from './score-stream.js';

/** What a batch has come to so far. */
export interface BatchCounts {
  readonly rows: number;
  readonly blocked: number;
  /** Rows that were answered with an error. */
  readonly bad: number;
  /** Rows whose text had come before and wasn't scored again. */
  readonly repeated: number;
  /** Rows that the rules decided because the model failed. */
  readonly fallbacks: number;
  /** How many rows each rule blocked. */
  readonly rules: Readonly<Record<string, number>>;
  /** How many rows took so many milliseconds or less: 0, 1, 2, 4 ... */
  readonly latency: Readonly<Record<string, number>>;
}

/** Nothing yet. */
export const NO_COUNTS: BatchCounts = {
  rows: 0,
  blocked: 0,
  bad: 0,
  repeated: 0,
  fallbacks: 0,
  rules: {},
  latency: {},
};

/** The counts with some rows more. */
export function withRows(counts: BatchCounts, scored: readonly ScoredRow[]): BatchCounts {
  const next = { ...counts, rules: { ...counts.rules }, latency: { ...counts.latency } };
  const { rules, latency } = next as { rules: Record<string, number>; latency: Record<string, number> };
  for (const { row, repeated } of scored) {
    next.rows += 1;
    if ('error' in row) {
      next.bad += 1;
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
  return next;
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
