import { describe, expect, it } from 'vitest';
import { searchInSteps, type Window } from '../../../src/store/sql/evidence/search-steps.js';
import type { EvidenceRow } from '../../../src/store/sql/tables.js';

const TOTAL = 50_000;
const row = (seq: number): EvidenceRow => ({
  seq,
  id: `ev_${seq.toString(16).padStart(24, '0')}`,
  account_id: 'a',
  key_id: null,
  verdict: 'allow',
  rule: 'none',
  decided_by: 'rules',
  router_level: 'rules',
  label: null,
  text: null,
  record: '',
});

/** Records 1 to 50,000, of which every `each`th matches; a window takes `ms`. */
const steps = (each: number, ms: number) => ({
  windows: [] as (readonly [number, number])[],
  async lowOf(high: number, size: number) {
    return Math.max(0, Math.min(high, TOTAL + 1) - size - 1);
  },
  async search({ low, high }: Window, limit: number) {
    this.windows.push([low, high]);
    const until = performance.now() + ms;
    while (performance.now() < until);
    const found: EvidenceRow[] = [];
    for (let seq = Math.min(high - 1, TOTAL); seq >= low && found.length < limit; seq -= 1)
      if (seq > 0 && seq % each === 0) found.push(row(seq));
    return { rows: found, low };
  },
});

describe('a search in steps', () => {
  it.each([
    ['frequent', 3, 0],
    ['seldom', 4_999, 0],
    ['never', TOTAL + 1, 0],
    ['slow', 1_000, 60],
  ])('finds all, each once, over pages: %s', async (_, each, ms) => {
    const seen: number[] = [];
    let from = Number.MAX_SAFE_INTEGER;
    for (let page = 0; page < TOTAL; page += 1) {
      const { rows, stoppedAt } = await searchInSteps(steps(each, ms), from, 100);
      seen.push(...rows.map((it) => it.seq));
      const next = rows.length === 100 ? rows.at(-1) : stoppedAt;
      if (!next) break;
      from = next.seq;
    }
    const all = Array.from({ length: Math.floor(TOTAL / each) }, (_, i) => (i + 1) * each).reverse();
    expect(seen).toEqual(all);
  });

  it('takes longer steps while they are quick, and ends early when they are slow', async () => {
    const quick = steps(TOTAL + 1, 0);
    await searchInSteps(quick, Number.MAX_SAFE_INTEGER, 100);
    expect(quick.windows.length).toBeLessThan(6);
    const slow = steps(TOTAL + 1, 60);
    const { rows, stoppedAt } = await searchInSteps(slow, Number.MAX_SAFE_INTEGER, 100);
    expect(rows).toEqual([]);
    expect(stoppedAt?.seq).toBeGreaterThan(0);
    expect(slow.windows.length).toBeLessThan(6);
  });
});
