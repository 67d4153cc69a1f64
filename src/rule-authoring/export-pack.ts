import { hash } from 'node:crypto';
import { choosePatternForm, readSteps, type StepShape } from '../engine/rules/compiled-rule.js';
import { createWordLookup } from '../engine/rules/pack/word-lists.js';
import { readPattern } from '../engine/rules/pattern/prepare-pattern.js';
import { printPattern } from '../engine/rules/pattern/print-pattern.js';
import type { Pack, Rule, WordLists } from '../engine/rules/types.js';

/** A rule in plain RE2: lists expanded, patterns as the engine compiles them. */
export interface ExportedRule
  extends Pick<
    Rule,
    | 'id'
    | 'version'
    | 'title'
    | 'status'
    | 'severity'
    | 'paranoia'
    | 'score'
    | 'languages'
    | 'tags'
    | 'channels'
    | 'views'
  > {
  readonly shape: StepShape;
  /** Each step is a list of alternatives. */
  readonly steps: readonly (readonly string[])[];
  readonly except: readonly string[];
  readonly examples: { readonly positive: readonly string[]; readonly negative: readonly string[] };
}

/** Exports the rules of a pack that compiled, without the deprecated ones. */
export function exportPack(pack: Pack): readonly ExportedRule[] {
  return pack.layers.flatMap(({ words, rules }) =>
    exportRules(
      rules.filter(({ status }) => status !== 'deprecated'),
      words,
    ),
  );
}

export function exportRules(rules: readonly Rule[], words: WordLists): readonly ExportedRule[] {
  const lookup = createWordLookup(words, () => undefined);
  return rules.map((rule) => {
    const re2 = (source: string): string => {
      const form = choosePatternForm(rule);
      const read = readPattern(source, form, lookup);
      if (!read.ok) throw new Error(`a pattern of ${rule.id} compiled, and could not be read`);
      return printPattern(read.node, form === 'folded');
    };
    const { shape, steps } = readSteps(rule.match);
    const { id, version, title, status, severity, paranoia, score, languages, tags, channels, views } = rule;
    return {
      ...{ id, version, title, status, severity, paranoia, score, languages, tags, channels, views, shape },
      steps: steps.map(({ patterns }) => patterns.map(re2)),
      except: rule.except.map(re2),
      examples: {
        positive: rule.examples.positive.map(({ text }) => text),
        negative: rule.examples.negative.map(({ text }) => text),
      },
    };
  });
}

/**
 * Returns the first 12 hex digits of the SHA-256 of everything that decides where a rule matches: patterns, distances, exceptions,
 * views and channels. A word list is part of the patterns that use it.
 */
export function matcherDigest({ channels, views, shape, steps, except }: ExportedRule): string {
  const content = JSON.stringify({ channels, views, shape, steps, except });
  return hash('sha256', content).slice(0, 12);
}
