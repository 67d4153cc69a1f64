import { describe, expect, it } from 'vitest';
import { type Alarms, nextRecord, worseThan } from './benign-record.js';

const texts = ['a', 'b', 'c'].map((id) => ({ id, kind: 'mail', language: 'en', text: id }));
const alarm = (id: string, margin = 0.3) => ({ id, rule: 'override.x', margin });
const alarms = (rules: readonly string[], both: readonly string[]): Alarms => ({
  rules: rules.map((id) => alarm(id)),
  both: both.map((id) => alarm(id)),
});
const entry = { date: '2026-11-21', versions: '1, 1', reason: 'first' };
const record = nextRecord(undefined, texts, alarms(['a'], ['a', 'b']), entry);

describe('the record of known alarms', () => {
  it('lets pass what it knows, and less', () => {
    expect(worseThan(record, texts, alarms(['a'], ['a', 'b']))).toEqual([]);
    expect(worseThan(record, texts, alarms([], ['b']))).toEqual([]);
  });

  it('stops a new alarm of either side, also where another went away', () => {
    expect(worseThan(record, texts, alarms(['b'], ['b']))).toHaveLength(1);
    expect(worseThan(record, texts, alarms(['a'], ['a', 'c']))).toEqual([
      "both: c is blocked by override.x, and the record doesn't know it",
    ]);
  });

  it('stops a run that has fewer texts', () => {
    expect(worseThan(record, texts.slice(1), alarms([], []))).toEqual(['1 texts are gone']);
  });

  it('forgives the model the last digits of another CPU, and the rules nothing', () => {
    const near = [alarm('c', 0.01)];
    expect(worseThan(record, texts, { rules: [], both: near })).toEqual([]);
    expect(worseThan(record, texts, { rules: near, both: [] })).toHaveLength(1);
  });

  it('keeps the reasons of the records before', () => {
    const next = nextRecord(record, texts, alarms([], []), { ...entry, reason: 'a rule was mended' });
    expect(next.history.map(({ reason, rules }) => [reason, rules])).toEqual([
      ['first', 1],
      ['a rule was mended', 0],
    ]);
  });
});
