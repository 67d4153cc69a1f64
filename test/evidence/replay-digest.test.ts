import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { canonicalJson } from '../../src/engine/canonical-json.js';
import { replayDigest } from '../../src/evidence/replay-digest.js';
import { makeRecord } from '../store/make-record.js';

it('is the SHA-256 of the canonical JSON of what lasts, whatever the order of the fields', () => {
  const { verdict } = makeRecord({ accountId: 'acct_0000000000000000' });
  for (const changed of [
    verdict,
    { ...verdict, reason: 'a "quoted" \ud800 word\u2028' },
    { ...verdict, score: 1e-7 },
  ]) {
    const { evidence_id: _id, latency_ms: _ms, ...lasting } = changed;
    const expected = `sha256:${createHash('sha256').update(canonicalJson(lasting)).digest('hex')}`;
    expect(replayDigest(changed)).toBe(expected);
    const turned = Object.fromEntries(Object.entries(changed).reverse()) as unknown as typeof verdict;
    expect(replayDigest({ ...turned, evidence_id: 'ev_other', latency_ms: 99 })).toBe(expected);
  }
});
