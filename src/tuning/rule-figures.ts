import { compilePack } from '../engine/rules/compile-pack.js';
import { bestCluster, type WeighedHit } from '../engine/rules/scan/clusters.js';
import type { Pack, Rule } from '../engine/rules/types.js';
import { buildViews } from '../engine/text/views.js';
import { type Interval, wilson } from '../evaluation/metrics/binomial.js';
import type { RuleHit } from '../evaluation/scoring/scan-text.js';

/** Number of texts of each kind. */
export interface Counts {
  readonly attacks: number;
  readonly benign: number;
}

/** Figures of one rule on the texts. Shares are 0..1. */
export interface RuleFigures {
  readonly rule: string;
  readonly status: Rule['status'];
  readonly paranoia: number;
  /** As set by the rule or an overlay; an experimental rule counts as 0 regardless. */
  readonly score: number;
  /** Texts that it matches. */
  readonly hits: Counts;
  /** Texts that no other rule matches. */
  readonly unique: Counts;
  /** Attacks among the texts that it matches; depends on the share of attacks in the data. */
  readonly precision: number | null;
  readonly precisionInterval: Interval | null;
  /** Texts blocked with the rule and not without it; for a rule that doesn't count: blocked if it did. */
  readonly marginal: Counts & { readonly recall: number; readonly falsePositiveRate: number };
  /** The rule that matches most of the same texts, and the share of them. */
  readonly redundantWith: { readonly rule: string; readonly share: number } | null;
  /** Microseconds for one text, the rule alone on views that are built; null where it wasn't measured. */
  readonly micros: number | null;
}

export interface RuleTexts {
  readonly rules: readonly Rule[];
  readonly texts: readonly RuleEvidence[];
  /** The score of each rule. */
  readonly scores: readonly number[];
  readonly threshold: number;
}

/** Indices of the texts that each rule matches. */
export function textsByRule(rules: number, texts: readonly RuleEvidence[]): readonly (readonly number[])[] {
  const lists: number[][] = Array.from({ length: rules }, () => []);
  texts.forEach((text, i) => {
    for (const rule of text.rules) (lists[rule] as number[]).push(i);
  });
  return lists;
}

function countTexts(texts: readonly RuleEvidence[]): Counts {
  const attacks = texts.filter(({ isAttack }) => isAttack).length;
  return { attacks, benign: texts.length - attacks };
}

function closestRule(
  rule: number,
  fired: readonly RuleEvidence[],
  rules: readonly Rule[],
): RuleFigures['redundantWith'] {
  const together = new Map<number, number>();
  for (const text of fired)
    for (const other of text.rules) if (other !== rule) together.set(other, (together.get(other) ?? 0) + 1);
  const most = [...together].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0];
  return most === undefined ? null : { rule: (rules[most[0]] as Rule).id, share: most[1] / fired.length };
}

/** Figures of every rule, in the pack's order. One rescoring for each finding's text: no text is scanned again. */
export function ruleFigures({ rules, texts, scores, threshold }: RuleTexts): readonly RuleFigures[] {
  const all = countTexts(texts);
  const before = texts.map((text) => scoreLists(text, scores) >= threshold);
  return textsByRule(rules.length, texts).map((places, index) => {
    const rule = rules[index] as Rule;
    const fired = places.map((place) => texts[place] as RuleEvidence);
    const hits = countTexts(fired);
    const changed = scores.with(index, (scores[index] as number) > 0 ? 0 : rule.score);
    const turned = places
      .filter((place) => before[place] !== scoreLists(texts[place] as RuleEvidence, changed) >= threshold)
      .map((place) => texts[place] as RuleEvidence);
    const marginal = countTexts(turned);
    return {
      rule: rule.id,
      status: rule.status,
      paranoia: rule.paranoia,
      score: rule.score,
      hits,
      unique: countTexts(fired.filter((text) => text.rules.length === 1)),
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
}

/** A place where a rule fired; the rule by its index. */
interface Place {
  readonly at: number;
  readonly rule: number;
}

/** A text with every place where any rule fired, so that it can be scored again with other rule scores, without a scan. */
export interface RuleEvidence {
  readonly isAttack: boolean;
  readonly family: number;
  /** Distinct rules, ascending. */
  readonly rules: readonly number[];
  /** Places in the input, then in each reading that has some; each sorted. */
  readonly lists: readonly (readonly Place[])[];
}

function byPlace(a: Place, b: Place): number {
  return a.at - b.at;
}

/** Findings as places by reading. `indexOf` gives a rule's index. */
export function ruleEvidence(
  text: { readonly isAttack: boolean; readonly family: number },
  hits: readonly RuleHit[],
  indexOf: ReadonlyMap<string, number>,
): RuleEvidence {
  const input: Place[] = [];
  const views = new Map<string, Place[]>();
  for (const { rule, start, view, at } of hits) {
    const index = indexOf.get(rule);
    if (index === undefined) continue;
    input.push({ at: start, rule: index });
    const places = views.get(view) ?? [];
    places.push({ at, rule: index });
    views.set(view, places);
  }
  return {
    isAttack: text.isAttack,
    family: text.family,
    rules: [...new Set(input.map(({ rule }) => rule))].sort((a, b) => a - b),
    lists: [input, ...views.values()].filter((list) => list.length > 0).map((list) => list.sort(byPlace)),
  };
}

/** The text's score when rule i counts `scores[i]`; 0: it doesn't. As the engine weighs, up to 64 places a rule. */
export function scoreLists({ lists }: RuleEvidence, scores: readonly number[]): number {
  let best = 0;
  for (const list of lists) {
    const hits: WeighedHit[] = [];
    for (const { at, rule } of list) {
      const score = scores[rule] as number;
      if (score > 0) hits.push({ at, rule, score });
    }
    if (hits.length > 0) best = Math.max(best, bestCluster(hits).score);
  }
  return best;
}

/** Number of times that all texts are scanned; the fastest round counts, since the machine has other work too. */
const ROUNDS = 3;

/**
 * Measures the cost of each rule alone, in microseconds a text (the mean over the texts, of the fastest of 3 rounds), on views
 * that are built: what the rule needs beyond them. In the whole pack rules share a search, and cost less.
 * Takes some milliseconds a rule.
 */
export function ruleCosts(pack: Pack, texts: readonly string[]): ReadonlyMap<string, number> {
  const views = texts.map((text) => buildViews(text).views);
  const costs = new Map<string, number>();
  if (views.length === 0) return costs;
  for (const { id } of pack.layers.flatMap(({ rules }) => rules)) {
    const layers = pack.layers.map((layer) => ({ ...layer, rules: layer.rules.filter((rule) => rule.id === id) }));
    const alone = compilePack({ ...pack, layers });
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now();
      for (const view of views) alone.scan(view, { paranoia: 3, exhaustive: true });
      least = Math.min(least, performance.now() - start);
    }
    costs.set(id, Math.round((least * 10_000) / views.length) / 10);
  }
  return costs;
}
