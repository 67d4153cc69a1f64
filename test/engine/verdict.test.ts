import { describe, expect, it } from 'vitest';
import { minimalVerdictSchema, toMinimal, type Verdict, verdictSchema } from '../../src/engine/verdict.js';

const ALLOW: Verdict = {
  verdict: 'allow',
  confidence: 0.1,
  rule: 'none',
  reason: null,
  rules_version: '1.0.0+0123456789ab',
  evidence_id: 'ev_0123456789abcdef01234567',
  latency_ms: 3,
  score: 0.1,
  threshold: 0.5,
  decided_by: 'rules',
  ml_version: 'off',
  ml_threshold: 0.5,
  mode: 'rules',
};
const BLOCK: Verdict = {
  ...ALLOW,
  verdict: 'block',
  score: 0.9,
  confidence: 0.9,
  rule: 'override.ignore-previous',
  reason: 'The text contains a request.',
};
const ML_BLOCK: Verdict = { ...BLOCK, mode: 'hybrid', decided_by: 'ml', ml_version: 'm+0', rule: 'ml.classifier' };

describe('verdictSchema', () => {
  it.each([
    ['allow', ALLOW],
    ['block', BLOCK],
    ['model block', ML_BLOCK],
    ['exactly at the threshold', { ...BLOCK, score: 0.5, confidence: 0.5 }],
    ['fallback', { ...ALLOW, mode: 'hybrid', decided_by: 'ml-error-rules-fallback', ml_version: 'm+0' }],
    ['shadow', { ...ALLOW, mode: 'shadow', ml_version: 'm+0' }],
  ])('takes %s', (_, verdict) => {
    expect(verdictSchema.parse(verdict)).toEqual(verdict);
  });

  it.each([
    ['an allow at or above the threshold', { ...ALLOW, score: 0.5, confidence: 0.5 }],
    ['a block below the threshold', { ...BLOCK, score: 0.4, confidence: 0.4 }],
    ['a confidence of its own', { ...BLOCK, confidence: 0.8 }],
    ['an allow with a rule', { ...ALLOW, rule: 'a.b' }],
    ['an allow with a reason', { ...ALLOW, reason: 'Because.' }],
    ['a block without a reason', { ...BLOCK, reason: null }],
    ['the model in mode rules', { ...ML_BLOCK, mode: 'rules' }],
    ['a fallback in shadow', { ...ALLOW, mode: 'shadow', decided_by: 'ml-error-rules-fallback', ml_version: 'm' }],
    ['a verdict of no model', { ...ML_BLOCK, ml_version: 'off' }],
    ['a model block by a rule', { ...ML_BLOCK, rule: 'a.b' }],
    ['a model verdict at another threshold', { ...ML_BLOCK, ml_threshold: 0.6 }],
    ['a rules block by the model', { ...BLOCK, rule: 'ml.classifier' }],
    ['a score above 1', { ...BLOCK, score: 1.1, confidence: 1.1 }],
    ['a foreign evidence id', { ...ALLOW, evidence_id: 'ev_0123456789ABCDEF01234567' }],
    ['a part of a millisecond', { ...ALLOW, latency_ms: 0.5 }],
    ['another field', { ...ALLOW, extra: 1 }],
    ['a missing field', { ...ALLOW, mode: undefined }],
  ])('refuses %s', (_, verdict) => {
    expect(verdictSchema.safeParse(verdict).success).toBe(false);
  });
});

describe('toMinimal', () => {
  it('keeps the first seven fields alone', () => {
    const minimal = toMinimal(BLOCK);
    expect(Object.keys(minimal)).toEqual([
      'verdict',
      'confidence',
      'rule',
      'reason',
      'rules_version',
      'evidence_id',
      'latency_ms',
    ]);
    expect(minimalVerdictSchema.parse(minimal)).toEqual(minimal);
    expect(minimalVerdictSchema.safeParse(BLOCK).success).toBe(false);
  });
});
