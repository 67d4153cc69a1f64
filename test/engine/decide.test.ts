import { describe, expect, it } from 'vitest';
import { combinedScore, decide, type ModelOutcome, type RulesSide } from '../../src/engine/decide.js';
import type { Mode } from '../../src/engine/verdict.js';

const BLOCKING: RulesSide = {
  score: 0.9,
  threshold: 0.5,
  rule: 'override.x',
  reason: 'The text contains x.',
  hidden: false,
};
const EXACT: RulesSide = {
  score: 0.5,
  threshold: 0.5,
  rule: 'override.x',
  reason: 'The text contains x.',
  hidden: false,
};
const WEAK: RulesSide = {
  score: 0.3,
  threshold: 0.5,
  rule: 'override.weak',
  reason: 'The text contains y.',
  hidden: false,
};
const SILENT: RulesSide = { score: 0, threshold: 0.5, rule: null, reason: null, hidden: false };

const OFF: ModelOutcome = { kind: 'off' };
const ERROR: ModelOutcome = { kind: 'error' };
const HIGH: ModelOutcome = {
  kind: 'probability',
  probability: 0.8,
  threshold: 0.7,
  passes: 1,
  clearsBelow: 0,
  rulesWeight: 6,
};
const HIGH_DEEP: ModelOutcome = {
  kind: 'probability',
  probability: 0.8,
  threshold: 0.7,
  passes: 2,
  clearsBelow: 0,
  rulesWeight: 6,
};
const EQUAL: ModelOutcome = {
  kind: 'probability',
  probability: 0.7,
  threshold: 0.7,
  passes: 1,
  clearsBelow: 0,
  rulesWeight: 6,
};
const LOW: ModelOutcome = {
  kind: 'probability',
  probability: 0.1,
  threshold: 0.7,
  passes: 1,
  clearsBelow: 0,
  rulesWeight: 6,
};
const UNSURE: ModelOutcome = {
  kind: 'probability',
  probability: 0.5,
  threshold: 0.7,
  passes: 1,
  clearsBelow: 0,
  rulesWeight: 6,
};

/** The odds of 0.8, 0.7, 0.5 and 0.1, times e^(6 * 0.3): worked out by hand. */
const RAISED = {
  high: expect.closeTo(0.960315, 6),
  equal: expect.closeTo(0.933844, 6),
  unsure: expect.closeTo(0.858149, 6),
  low: expect.closeTo(0.401979, 6),
};

// mode, rules, model -> verdict, score, threshold, rule, decided by, router level, model verdict, model score
type Row = [Mode, RulesSide, ModelOutcome, string, unknown, number, string, string, string, string, number | null];
const ROWS: readonly Row[] = [
  ['rules', BLOCKING, OFF, 'block', 0.9, 0.5, 'override.x', 'rules', 'rules', 'off', null],
  ['rules', BLOCKING, ERROR, 'block', 0.9, 0.5, 'override.x', 'rules', 'rules', 'off', null],
  ['rules', BLOCKING, HIGH, 'block', 0.9, 0.5, 'override.x', 'rules', 'rules', 'off', null],
  ['rules', BLOCKING, LOW, 'block', 0.9, 0.5, 'override.x', 'rules', 'rules', 'off', null],
  ['rules', EXACT, OFF, 'block', 0.5, 0.5, 'override.x', 'rules', 'rules', 'off', null],
  ['rules', WEAK, OFF, 'allow', 0.3, 0.5, 'none', 'rules', 'rules', 'off', null],
  ['rules', WEAK, HIGH, 'allow', 0.3, 0.5, 'none', 'rules', 'rules', 'off', null],
  ['rules', SILENT, OFF, 'allow', 0, 0.5, 'none', 'rules', 'rules', 'off', null],
  ['rules', SILENT, ERROR, 'allow', 0, 0.5, 'none', 'rules', 'rules', 'off', null],

  ['hybrid', BLOCKING, OFF, 'block', 0.9, 0.5, 'override.x', 'rules', 'rules', 'off', null],
  ['hybrid', BLOCKING, ERROR, 'block', 0.9, 0.5, 'override.x', 'ml-error-rules-fallback', 'rules', 'error', null],
  ['hybrid', BLOCKING, HIGH, 'block', 0.9, 0.5, 'override.x', 'rules', 'advanced', 'block', 0.8],
  ['hybrid', BLOCKING, LOW, 'block', 0.9, 0.5, 'override.x', 'rules', 'advanced', 'allow', 0.1],
  ['hybrid', EXACT, LOW, 'block', 0.5, 0.5, 'override.x', 'rules', 'advanced', 'allow', 0.1],
  ['hybrid', WEAK, OFF, 'allow', 0.3, 0.5, 'none', 'rules', 'rules', 'off', null],
  ['hybrid', WEAK, ERROR, 'allow', 0.3, 0.5, 'none', 'ml-error-rules-fallback', 'rules', 'error', null],
  ['hybrid', WEAK, HIGH, 'block', RAISED.high, 0.7, 'ml.classifier', 'ml', 'advanced', 'block', 0.8],
  ['hybrid', WEAK, HIGH_DEEP, 'block', RAISED.high, 0.7, 'ml.classifier', 'ml', 'deep', 'block', 0.8],
  ['hybrid', WEAK, EQUAL, 'block', RAISED.equal, 0.7, 'ml.classifier', 'ml', 'advanced', 'block', 0.7],
  ['hybrid', WEAK, UNSURE, 'block', RAISED.unsure, 0.7, 'ml.classifier', 'ml', 'advanced', 'allow', 0.5],
  ['hybrid', WEAK, LOW, 'allow', RAISED.low, 0.7, 'none', 'ml', 'advanced', 'allow', 0.1],
  ['hybrid', SILENT, UNSURE, 'allow', 0.5, 0.7, 'none', 'ml', 'advanced', 'allow', 0.5],
  ['hybrid', SILENT, OFF, 'allow', 0, 0.5, 'none', 'rules', 'rules', 'off', null],
  ['hybrid', SILENT, ERROR, 'allow', 0, 0.5, 'none', 'ml-error-rules-fallback', 'rules', 'error', null],
  ['hybrid', SILENT, HIGH, 'block', 0.8, 0.7, 'ml.classifier', 'ml', 'advanced', 'block', 0.8],
  ['hybrid', SILENT, LOW, 'allow', 0.1, 0.7, 'none', 'ml', 'advanced', 'allow', 0.1],

  ['shadow', BLOCKING, OFF, 'block', 0.9, 0.5, 'override.x', 'rules', 'rules', 'off', null],
  ['shadow', BLOCKING, ERROR, 'block', 0.9, 0.5, 'override.x', 'rules', 'rules', 'error', null],
  ['shadow', BLOCKING, LOW, 'block', 0.9, 0.5, 'override.x', 'rules', 'advanced', 'allow', 0.1],
  ['shadow', WEAK, ERROR, 'allow', 0.3, 0.5, 'none', 'rules', 'rules', 'error', null],
  ['shadow', WEAK, HIGH, 'allow', 0.3, 0.5, 'none', 'rules', 'advanced', 'block', 0.8],
  ['shadow', WEAK, HIGH_DEEP, 'allow', 0.3, 0.5, 'none', 'rules', 'deep', 'block', 0.8],
  ['shadow', SILENT, OFF, 'allow', 0, 0.5, 'none', 'rules', 'rules', 'off', null],
  ['shadow', SILENT, HIGH, 'allow', 0, 0.5, 'none', 'rules', 'advanced', 'block', 0.8],
  ['shadow', SILENT, LOW, 'allow', 0, 0.5, 'none', 'rules', 'advanced', 'allow', 0.1],
];

describe('decide', () => {
  it.each(ROWS)(
    '%s, rules %o, model %o',
    (mode, rules, model, verdict, score, threshold, rule, by, level, mlVerdict, mlScore) => {
      expect(decide(mode, rules, model)).toEqual({
        verdict,
        score,
        threshold,
        rule,
        reason: verdict === 'allow' ? null : expect.stringMatching(/^The .*\.$/),
        decidedBy: by,
        routerLevel: level,
        modelVerdict: mlVerdict,
        modelScore: mlScore,
        cleared: false,
        combined: mlScore === null ? null : expect.any(Number),
      });
    },
  );

  it('says so when only both sides together block', () => {
    expect(decide('hybrid', WEAK, UNSURE).reason).toMatch(/together/);
    expect(decide('hybrid', WEAK, HIGH).reason).not.toMatch(/together/);
  });

  it('raises the probability never down, never past 1, and no further than 3 log-odds', () => {
    for (const probability of [0, 1e-9, 0.2, 0.5, 0.999999, 1]) {
      expect(combinedScore(probability, 0, 6)).toBe(probability);
      let before = probability;
      for (const rulesScore of [0.1, 0.3, 0.49, 0.8, 1]) {
        const score = combinedScore(probability, rulesScore, 6);
        expect(score).toBeGreaterThanOrEqual(before);
        expect(score).toBeLessThanOrEqual(1);
        before = score;
      }
    }
    expect(combinedScore(0.5, 1, 6)).toBeCloseTo(1 / (1 + Math.exp(-3)), 12);
    expect(combinedScore(0.5, 1, 6)).toBe(combinedScore(0.5, 0.6, 6));
  });

  it('gives a rules block its own reason and names the rule', () => {
    expect(decide('hybrid', BLOCKING, OFF)).toMatchObject({
      rule: 'override.x',
      reason: 'The text contains x.',
    });
  });

  it('blocks everything at a threshold of 0, and still names something', () => {
    expect(decide('rules', { ...SILENT, threshold: 0 }, OFF)).toMatchObject({
      verdict: 'block',
      rule: 'rules.threshold',
      reason: expect.stringMatching(/\.$/),
    });
  });

  it('adds nothing for a model whose weight for the rules is 0', () => {
    const weighing: ModelOutcome = {
      kind: 'probability',
      probability: 0.5,
      threshold: 0.7,
      passes: 1,
      clearsBelow: 0,
      rulesWeight: 0,
    };
    expect(decide('hybrid', WEAK, weighing)).toMatchObject({ verdict: 'allow', score: 0.5, combined: 0.5 });
  });

  describe('a model that clears what the rules found', () => {
    const found: RulesSide = { ...BLOCKING, score: 0.6 };
    const clearing = (probability: number): ModelOutcome => ({
      ...{ kind: 'probability', probability, threshold: 0.7, passes: 1, clearsBelow: 0.15, rulesWeight: 6 },
    });

    it('allows below its limit, and blocks at it', () => {
      const cleared = decide('hybrid', found, clearing(0.14));
      expect(cleared).toMatchObject({ verdict: 'allow', score: 0.14, threshold: 0.7, rule: 'none', decidedBy: 'ml' });
      expect(cleared.cleared).toBe(true);
      expect(decide('hybrid', found, clearing(0.15))).toMatchObject({
        verdict: 'block',
        rule: 'override.x',
        cleared: false,
      });
    });

    it('clears no certain finding, and none in hidden text', () => {
      expect(decide('hybrid', BLOCKING, clearing(0))).toMatchObject({ verdict: 'block', decidedBy: 'rules' });
      expect(decide('hybrid', { ...found, hidden: true }, clearing(0))).toMatchObject({ verdict: 'block' });
    });

    it('says in shadow mode what it would clear, and decides nothing', () => {
      expect(decide('shadow', found, clearing(0.1))).toMatchObject({
        verdict: 'block',
        decidedBy: 'rules',
        cleared: true,
      });
    });

    it('leaves the decision to the rules when it fails', () => {
      expect(decide('hybrid', found, ERROR)).toMatchObject({ verdict: 'block', decidedBy: 'ml-error-rules-fallback' });
    });

    it('does not allow what an operator lets it block', () => {
      const strict: ModelOutcome = {
        kind: 'probability',
        probability: 0.1,
        threshold: 0.05,
        passes: 1,
        rulesWeight: 6,
        clearsBelow: 0.15,
      };
      expect(decide('hybrid', found, strict)).toMatchObject({ verdict: 'block', cleared: false });
    });
  });

  it('blocks exactly at or above the threshold of the side that decided, for every combination', () => {
    const grid = [0, 0.25, 0.5, 0.75, 1];
    for (const mode of ['rules', 'hybrid', 'shadow'] as const) {
      for (const score of grid) {
        for (const threshold of grid) {
          const rules: RulesSide = {
            score,
            threshold,
            rule: score > 0 ? 'a.b' : null,
            reason: score > 0 ? 'R.' : null,
            hidden: false,
          };
          const models: ModelOutcome[] = grid.flatMap((probability) =>
            grid.flatMap((limit) =>
              [0, 0.3].map((clearsBelow): ModelOutcome => {
                return { kind: 'probability', probability, threshold: limit, passes: 1, clearsBelow, rulesWeight: 6 };
              }),
            ),
          );
          for (const model of [OFF, ERROR, ...models]) {
            const it = decide(mode, rules, model);
            expect(it.verdict === 'block').toBe(it.score >= it.threshold);
            expect(it.rule === 'none').toBe(it.verdict === 'allow');
            expect(it.reason === null).toBe(it.verdict === 'allow');
            if (mode !== 'hybrid') expect(it.score).toBe(score);
          }
        }
      }
    }
  });
});
