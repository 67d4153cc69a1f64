import { describe, expect, it } from 'vitest';
import { type FalsePositives, nextRecord, worseThan } from './benign-record.js';

const texts = ['a', 'b', 'c'].map((id) => ({ id, kind: 'mail', language: 'en', text: id }));
const falsePositive = (id: string, margin = 0.3) => ({ id, rule: 'override.x', margin });
const falsePositives = (rules: readonly string[], both: readonly string[]): FalsePositives => ({
  rules: rules.map((id) => falsePositive(id)),
  both: both.map((id) => falsePositive(id)),
});
const entry = { date: '2026-11-21', versions: '1, 1', reason: 'first' };
const record = nextRecord(undefined, texts, falsePositives(['a'], ['a', 'b']), entry);

describe('the record of known false positives', () => {
  it('lets pass what it knows, and less', () => {
    expect(worseThan(record, texts, falsePositives(['a'], ['a', 'b']))).toEqual([]);
    expect(worseThan(record, texts, falsePositives([], ['b']))).toEqual([]);
  });

  it('stops a new false positive of either side, also where another is gone', () => {
    expect(worseThan(record, texts, falsePositives(['b'], ['b']))).toHaveLength(1);
    expect(worseThan(record, texts, falsePositives(['a'], ['a', 'c']))).toEqual([
      "both: c is blocked by override.x, and the record doesn't know it",
    ]);
  });

  it('stops a run that has fewer texts', () => {
    expect(worseThan(record, texts.slice(1), falsePositives([], []))).toEqual(['1 texts are gone']);
  });

  it('forgives the model the last digits of another CPU, and the rules nothing', () => {
    const near = [falsePositive('c', 0.01)];
    expect(worseThan(record, texts, { rules: [], both: near })).toEqual([]);
    expect(worseThan(record, texts, { rules: near, both: [] })).toHaveLength(1);
  });

  it('keeps the reasons of the records before', () => {
    const next = nextRecord(record, texts, falsePositives([], []), { ...entry, reason: 'a rule was fixed' });
    expect(next.history.map(({ reason, rules }) => [reason, rules])).toEqual([
      ['first', 1],
      ['a rule was fixed', 0],
    ]);
  });
});
