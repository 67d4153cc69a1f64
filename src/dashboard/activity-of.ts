import type { EvidenceCount, LatencyCount } from '../store/evidence-store.js';
import { latencyOf } from '../store/latency-step.js';
import type { Activity, TimeStep } from './ports.js';

/** The overview's figures. Each step of `[from, to)` is there, empty ones too. */
export function activityOf(
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
    steps: steps.map(({ took, ...step }) => ({ ...step, latency: percentilesOf(took) })),
    byRule: [...byRule].map(([rule, blocks]) => ({ rule, blocks })).sort((a, b) => b.blocks - a.blocks),
  };
}

/** By nearest rank; null where nothing was counted. */
function percentilesOf(took: ReadonlyMap<number, number>): TimeStep['latency'] {
  const sorted = [...took].sort(([a], [b]) => a - b);
  const calls = sorted.reduce((sum, [, n]) => sum + n, 0);
  if (calls === 0) return null;
  const at = (part: number): number => {
    let left = Math.ceil(calls * part);
    const found = sorted.find(([, n]) => {
      left -= n;
      return left <= 0;
    });
    return latencyOf(found?.[0] ?? 0);
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
