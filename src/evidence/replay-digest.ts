import { createHash } from 'node:crypto';
import { canonicalJson } from '../engine/canonical-json.js';
import type { Verdict } from '../engine/verdict.js';

/** `sha256:` and hex over all of a verdict that a replay must give again: all but its id and the time it took. */
export function replayDigest(verdict: Verdict): string {
  const { evidence_id: _id, latency_ms: _time, ...lasting } = verdict;
  return `sha256:${createHash('sha256').update(canonicalJson(lasting)).digest('hex')}`;
}
