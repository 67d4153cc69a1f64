import { hash } from 'node:crypto';
import type { Verdict } from '../engine/verdict.js';

/** `sha256:` and hex over all of a verdict that a replay must give again: all but its id and the time it took. */
export function replayDigest(verdict: Verdict): string {
  const { evidence_id: _id, latency_ms: _time, ...lasting } = verdict;
  // Canonical JSON: a verdict is flat, so an order of its names is all that takes.
  return `sha256:${hash('sha256', JSON.stringify(lasting, Object.keys(lasting).sort()))}`;
}
