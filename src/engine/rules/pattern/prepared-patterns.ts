import { formOf, shapeOf } from '../compiled-rule.js';
import { createWordLookup } from '../pack/word-lists.js';
import type { Rule, WordLists } from '../types.js';
import { foldLiteral } from './fold-literal.js';
import { type PatternForm, type PreparedPattern, type PreparedPatterns, preparePattern } from './prepare-pattern.js';

/** Names an authored pattern in the form in which a rule's views read it. */
export const preparedKey = (source: string, form: PatternForm): string => `${form} ${source}`;

/**
 * Makes every sound pattern of some rules ready, so that a bundle can carry them and a start needn't parse them. Left
 * out are patterns with mistakes, which `compilePack` reports, and deprecated rules, which have none that run.
 */
export function preparePatterns(rules: readonly Rule[], words: WordLists): PreparedPatterns {
  const lookup = createWordLookup(words, () => {});
  const prepared = new Map<string, PreparedPattern>();
  for (const rule of rules.filter(({ status }) => status !== 'deprecated')) {
    const form = formOf(rule);
    for (const source of [...shapeOf(rule.match).steps.flatMap(({ patterns }) => patterns), ...rule.except]) {
      const key = preparedKey(source, form);
      const made = prepared.has(key) ? undefined : preparePattern(source, form, lookup, foldLiteral);
      if (made?.ok) prepared.set(key, made.pattern);
    }
  }
  return prepared;
}
