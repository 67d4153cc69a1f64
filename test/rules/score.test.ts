import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bestCluster, CLUSTER_REACH, SCORE_CEILING } from '../../src/engine/rules/scan/clusters.js';
import { compile, makeRule, scan } from './make-pack.js';

const rule = (name: string, score: number, word: string, status: 'stable' | 'experimental' = 'stable') =>
  makeRule({ id: `test.${name}`, score, status, match: { any: [word] } });

describe('score', () => {
  const pack = compile([
    rule('a', 0.3, 'alpha'),
    rule('b', 0.3, 'beta'),
    rule('strong', 0.9, 'gamma'),
    rule('shadow', 0.9, 'delta', 'experimental'),
  ]);

  it.each([
    ['one', 'alpha', 0.3],
    ['the same twice counts once', 'alpha alpha', 0.3],
    ['two in company', 'alpha and beta', 0.51],
    ['two far apart', `alpha ${'tree '.repeat(90)} beta`, 0.3],
    ['a strong one', 'gamma', 0.9],
    ['none', 'omega', 0],
    ['an experimental one', 'delta', 0],
  ])('%s', (_, text, score) => {
    expect(scan(pack, text).score).toBeCloseTo(score, 10);
  });

  it('names the strongest rule and shows shadow findings apart', () => {
    const signal = scan(pack, 'alpha gamma delta');
    expect(signal.rule).toBe('test.gamma'.replace('gamma', 'strong'));
    expect(signal.cluster).toEqual(['test.strong', 'test.a']);
    expect(signal.shadow.map((finding) => finding.rule)).toEqual(['test.shadow']);
    expect(signal.findings).toHaveLength(2);
  });

  it('never exceeds its ceiling, and stops there with the same score and rule', () => {
    const many = compile(Array.from({ length: 9 }, (_, at) => rule(`r${at}`, 0.9, `word${at}`)));
    const text = `${Array.from({ length: 9 }, (_, at) => `word${at}`).join(' ')} ${'x '.repeat(9000)} word1`;
    const short = scan(many, text);
    const long = scan(many, text, { exhaustive: true });
    expect(short.score).toBe(SCORE_CEILING);
    expect({ ...long, findings: [] }).toEqual({ ...short, findings: [] });
    expect(long.findings.length).toBeGreaterThan(short.findings.length);
  });

  it('agrees with the definition on any hits', () => {
    const hit = fc.record({ at: fc.nat(2000), rule: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(hit, { maxLength: 40 }), (given) => {
        const hits = given.map((one) => ({ ...one, score: (one.rule + 1) / 10 })).sort((a, b) => a.at - b.at);
        const scores = hits.map((first) => {
          const inside = hits.filter((one) => one.at >= first.at && one.at - first.at <= CLUSTER_REACH);
          const rules = new Map(inside.map((one) => [one.rule, one.score]));
          return 1 - [...rules.values()].reduce((left, score) => left * (1 - score), 1);
        });
        expect(bestCluster(hits).score).toBeCloseTo(Math.min(SCORE_CEILING, Math.max(0, ...scores)), 8);
      }),
    );
  });

  it('is never lowered by text added before or after', () => {
    const words = fc.constantFrom('alpha', 'beta', 'gamma', 'tree', 'house.', 'river,', '\n\n');
    const texts = fc.array(words, { maxLength: 12 }).map((list) => list.join(' '));
    const benign = fc
      .array(fc.constantFrom('the', 'cat', 'sat.', 'on', 'mats,'), { maxLength: 3000 })
      .map((list) => list.join(' '));
    fc.assert(
      fc.property(texts, benign, benign, (text, before, after) => {
        expect(scan(pack, `${before} ${text} ${after}`).score).toBeGreaterThanOrEqual(scan(pack, text).score - 1e-12);
      }),
      { numRuns: 60 },
    );
  });
});
