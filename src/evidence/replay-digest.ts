import { hash } from 'node:crypto';
import type { Verdict } from '../engine/verdict.js';

/** Members of a verdict that a replay must reproduce. */
type Lasting = Omit<Verdict, 'evidence_id' | 'latency_ms'>;

/** The digest made last: most verdicts of a service are the same but for what is left out here. */
let last = { of: '', digest: '' };

/** `sha256:` and hex over all of a verdict that a replay must give again: all but its id and the time it took. */
export function replayDigest(verdict: Verdict): string {
  // Canonical JSON: a verdict is flat, so its fields in the order of their names are all that takes.
  const lasting: Lasting = {
    confidence: verdict.confidence,
    decided_by: verdict.decided_by,
    ml_threshold: verdict.ml_threshold,
    ml_version: verdict.ml_version,
    mode: verdict.mode,
    reason: verdict.reason,
    rule: verdict.rule,
    rules_version: verdict.rules_version,
    score: verdict.score,
    threshold: verdict.threshold,
    verdict: verdict.verdict,
  };
  const text = JSON.stringify(lasting);
  if (text !== last.of) last = { of: text, digest: `sha256:${hash('sha256', text)}` };
  return last.digest;
}
