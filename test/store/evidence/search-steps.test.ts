import { describe, expect, it } from 'vitest';
import type { ListedPlace } from '../../../src/store/sql/evidence/evidence-filter.js';
import { searchInSteps, type Window } from '../../../src/store/sql/evidence/search-steps.js';

const TOTAL = 50_000;
const placeOf = (seq: number): ListedPlace => ({ seq, id: `ev_${seq.toString(16).padStart(24, '0')}`, bytes: 100 });

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
    const places: ListedPlace[] = [];
    for (let seq = Math.min(high - 1, TOTAL); seq >= low && places.length < limit; seq -= 1)
      if (seq > 0 && seq % each === 0) places.push(placeOf(seq));
    return { places, low };
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
      const { places, stoppedAt } = await searchInSteps(steps(each, ms), from, 100);
      seen.push(...places.map((it) => it.seq));
      const next = places.length === 100 ? places.at(-1) : stoppedAt;
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
    const { places, stoppedAt } = await searchInSteps(slow, Number.MAX_SAFE_INTEGER, 100);
    expect(places).toEqual([]);
    expect(stoppedAt?.seq).toBeGreaterThan(0);
    expect(slow.windows.length).toBeLessThan(6);
  });
});
