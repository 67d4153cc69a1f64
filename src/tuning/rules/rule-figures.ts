import type { Rule } from '../../engine/rules/types.js';
import { type Interval, wilson } from '../../evaluation/metrics/wilson.js';
import { type RuleEvidence, scoreOf } from './rule-evidence.js';

/** How many texts of each kind. */
export interface Counts {
  readonly attacks: number;
  readonly benign: number;
}

/** What one rule does on the texts. Shares are 0..1. */
export interface RuleFigures {
  readonly rule: string;
  readonly status: Rule['status'];
  readonly paranoia: number;
  /** As the rule or an overlay says it; an experimental rule counts 0 whatever stands here. */
  readonly score: number;
  /** Texts in which it fires. */
  readonly hits: Counts;
  /** Texts in which no other rule fires. */
  readonly unique: Counts;
  /** Attacks among the texts it fires in. It hangs on how many attacks there are in the data. */
  readonly precision: number | null;
  readonly precisionInterval: Interval | null;
  /** Texts blocked with the rule and not without it; for a rule that doesn't count: blocked if it did. */
  readonly marginal: Counts & { readonly recall: number; readonly falsePositiveRate: number };
  /** The rule that fires in most of the same texts, and in which share of them. */
  readonly redundantWith: { readonly rule: string; readonly share: number } | null;
  /** Microseconds for one text, the rule alone on views that are built; null where it wasn't measured. */
  readonly micros: number | null;
}

/** What the figures are made from. */
export interface RuleTexts {
  readonly rules: readonly Rule[];
  readonly texts: readonly RuleEvidence[];
  /** What each rule counts. */
  readonly scores: readonly number[];
  readonly threshold: number;
}

/** Indices of the texts in which each rule fires. */
export const textsByRule = (rules: number, texts: readonly RuleEvidence[]): readonly (readonly number[])[] => {
  const lists: number[][] = Array.from({ length: rules }, () => []);
  texts.forEach((text, i) => {
    for (const rule of text.rules) (lists[rule] as number[]).push(i);
  });
  return lists;
};

/** The scores with one of them changed. */
export const withScore = (scores: readonly number[], rule: number, score: number): readonly number[] => {
  const changed = [...scores];
  changed[rule] = score;
  return changed;
};

const countsOf = (texts: readonly RuleEvidence[]): Counts => {
  const attacks = texts.filter(({ isAttack }) => isAttack).length;
  return { attacks, benign: texts.length - attacks };
};

const closestRule = (
  rule: number,
  fired: readonly RuleEvidence[],
  rules: readonly Rule[],
): RuleFigures['redundantWith'] => {
  const together = new Map<number, number>();
  for (const text of fired)
    for (const other of text.rules) if (other !== rule) together.set(other, (together.get(other) ?? 0) + 1);
  const most = [...together].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0];
  return most === undefined ? null : { rule: (rules[most[0]] as Rule).id, share: most[1] / fired.length };
};

/** Figures of every rule, in the pack's order. One rescoring for each finding's text: no text is scanned again. */
export const ruleFigures = ({ rules, texts, scores, threshold }: RuleTexts): readonly RuleFigures[] => {
  const all = countsOf(texts);
  const before = texts.map((text) => scoreOf(text, scores) >= threshold);
  return textsByRule(rules.length, texts).map((places, index) => {
    const rule = rules[index] as Rule;
    const fired = places.map((place) => texts[place] as RuleEvidence);
    const hits = countsOf(fired);
    const changed = withScore(scores, index, (scores[index] as number) > 0 ? 0 : rule.score);
    const turned = places
      .filter((place) => before[place] !== scoreOf(texts[place] as RuleEvidence, changed) >= threshold)
      .map((place) => texts[place] as RuleEvidence);
    const marginal = countsOf(turned);
    return {
      rule: rule.id,
      status: rule.status,
      paranoia: rule.paranoia,
      score: rule.score,
      hits,
      unique: countsOf(fired.filter((text) => text.rules.length === 1)),
      precision: fired.length === 0 ? null : hits.attacks / fired.length,
      precisionInterval: fired.length === 0 ? null : wilson(hits.attacks, fired.length),
      marginal: {
        ...marginal,
        recall: all.attacks === 0 ? 0 : marginal.attacks / all.attacks,
        falsePositiveRate: all.benign === 0 ? 0 : marginal.benign / all.benign,
      },
      redundantWith: closestRule(index, fired, rules),
      micros: null,
    };
  });
};
