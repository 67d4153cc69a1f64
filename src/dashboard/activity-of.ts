import type { EvidenceCount } from '../store/evidence-store.js';
import type { Activity, RecordView } from './ports.js';

/**
 * The overview's figures. Each step of `[from, to)` is there, empty ones too. `newest` are the newest records,
 * newest first, from which the versions are told.
 */
export function activityOf(
  counts: readonly EvidenceCount[],
  newest: readonly RecordView[],
  from: number,
  to: number,
  stepMs: number,
): Activity {
  const steps = Array.from({ length: Math.round((to - from) / stepMs) }, (_, index) => ({
    ...{ time: from + index * stepMs, calls: 0, blocks: 0, modelErrors: 0, latencySum: 0, latencyMax: 0 },
  }));
  const byRule = new Map<string, number>();
  for (const it of counts) {
    if (it.blocks > 0) byRule.set(it.rule, (byRule.get(it.rule) ?? 0) + it.blocks);
    const step = steps[Math.floor((it.at - from) / stepMs)];
    if (step === undefined) continue;
    step.calls += it.calls;
    step.blocks += it.blocks;
    step.modelErrors += it.modelErrors;
    step.latencySum += it.latencySum;
    step.latencyMax = Math.max(step.latencyMax, it.latencyMax);
  }
  return {
    steps: steps.map(({ latencySum, latencyMax, ...step }) => ({
      ...step,
      latencyMean: step.calls === 0 ? null : latencySum / step.calls,
      latencyMax: step.calls === 0 ? null : latencyMax,
    })),
    byRule: [...byRule].map(([rule, blocks]) => ({ rule, blocks })).sort((a, b) => b.blocks - a.blocks),
    sampled: newest.length,
    versions: versionsOf(newest),
  };
}

function versionsOf(newest: readonly RecordView[]): Activity['versions'] {
  const versions = new Map<string, Activity['versions'][number]>();
  for (const { time, verdict } of newest) {
    const { rules_version: rulesVersion, ml_version: mlVersion } = verdict;
    const before = versions.get(`${rulesVersion} ${mlVersion}`) ?? { calls: 0, blocks: 0 };
    const calls = before.calls + 1;
    const blocks = before.blocks + (verdict.verdict === 'block' ? 1 : 0);
    versions.set(`${rulesVersion} ${mlVersion}`, {
      rulesVersion,
      mlVersion,
      firstSeen: Date.parse(time),
      calls,
      blocks,
    });
  }
  return [...versions.values()];
}
