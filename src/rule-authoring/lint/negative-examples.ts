import { choosePatternForm, readSteps } from '../../engine/rules/compiled-rule.js';
import type { PackProblem } from '../../engine/rules/pack/pack-error.js';
import type { WordLookup } from '../../engine/rules/pattern/parse-pattern.js';
import { preparePatterns } from '../../engine/rules/pattern/prepare-patterns.js';
import { createLiteralMatches } from '../../engine/rules/prefilter/literal-matches.js';
import type { Rule } from '../../engine/rules/types.js';
import type { ViewSet } from '../../engine/text/view.js';

/** Letters of a word that is worth sharing. */
const WORD = 4;

/**
 * Reports negative examples in which no required literal of the rule occurs, and no word of what its positive examples hit:
 * the prefilter drops such a text before any pattern runs, so that it would pass whatever the patterns say. All views count: a rule of hidden text has plain text as its
 * near miss. Drafts, which run in shadow, and rules with a pattern without required literals are not judged.
 */
export function checkNegatives(
  rule: Rule,
  words: WordLookup,
  readViews: (text: string) => ViewSet,
): readonly PackProblem[] {
  if (rule.status !== 'stable') return [];
  const { index, patterns } = preparePatterns([rule], words, () => {})[choosePatternForm(rule)];
  const sources = readSteps(rule.match).steps.flatMap((step) => step.patterns);
  if (sources.some((source) => (patterns.get(source)?.alternatives.length ?? 0) === 0)) return [];
  const hits = new Set(rule.examples.positive.flatMap(({ hit }) => listWords(hit)));
  const matches = createLiteralMatches(index, () => true);
  return rule.examples.negative.flatMap(({ text }, at) => {
    const { views } = readViews(text);
    if (views.some((view) => matches.scan(view.text).met.length > 0)) return [];
    if (listWords(text).some((word) => hits.has(word))) return [];
    const message =
      'This negative has no phrase that the rule requires, and no word of what it matches: it proves nothing.';
    const path = ['examples', 'negative', at, 'text'];
    return [{ code: 'PACK067', message, advice: NEAR_MISS, place: { in: 'rule', name: rule.id, path } }];
  });
}

const NEAR_MISS = 'Write a near miss: a benign text with a phrase or a word of the rule.';

const listWords = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word.length >= WORD);
