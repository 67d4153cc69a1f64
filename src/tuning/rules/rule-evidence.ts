import { bestCluster, type WeighedHit } from '../../engine/rules/scan/clusters.js';
import type { RuleHit } from '../../evaluation/scoring/scan-text.js';

/** A place where a rule fired; the rule by its index. */
interface Place {
  readonly at: number;
  readonly rule: number;
}

/** A text with every place where any rule fired, so that it can be scored anew under other scores without a scan. */
export interface RuleEvidence {
  readonly isAttack: boolean;
  readonly family: number;
  /** Distinct rules, ascending. */
  readonly rules: readonly number[];
  /** Places in the input, then in each reading that has some; each sorted. */
  readonly lists: readonly (readonly Place[])[];
}

const byPlace = (a: Place, b: Place): number => a.at - b.at;

/** Findings as places by reading. `indexOf` gives a rule's index. */
export const ruleEvidence = (
  text: { readonly isAttack: boolean; readonly family: number },
  hits: readonly RuleHit[],
  indexOf: ReadonlyMap<string, number>,
): RuleEvidence => {
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
};

/** The text's score when rule i counts `scores[i]`; 0: it doesn't. As the engine weighs, up to 64 places a rule. */
export const scoreOf = ({ lists }: RuleEvidence, scores: readonly number[]): number => {
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
};
