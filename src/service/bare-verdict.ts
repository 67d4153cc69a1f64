import type { ExplainedVerdict, Verdict } from '../index.js';

/**
 * The verdict alone, in the order of its fields, with the id of this call and the milliseconds that it took this service.
 * Named one by one: the rest of an object is dear.
 */
export function bareVerdict(
  explained: ExplainedVerdict,
  evidenceId: string = explained.evidence_id,
  tookMs: number = explained.latency_ms,
): Verdict {
  return {
    verdict: explained.verdict,
    confidence: explained.confidence,
    rule: explained.rule,
    reason: explained.reason,
    rules_version: explained.rules_version,
    evidence_id: evidenceId,
    latency_ms: Math.round(tookMs),
    score: explained.score,
    threshold: explained.threshold,
    decided_by: explained.decided_by,
    ml_version: explained.ml_version,
    ml_threshold: explained.ml_threshold,
    mode: explained.mode,
  };
}
