import { chooseGroup, choosePatternForm, readSteps } from '../compiled-rule.js';
import { compileSource } from '../matcher/pattern.js';
import { ProgramWriter } from '../matcher/programs.js';
import { indexLiterals } from '../prefilter/literal-index.js';
import type { Alternative } from '../prefilter/literal-set.js';
import { isWide } from '../prefilter/prefilter.js';
import type { Rule } from '../types.js';
import type { IndexedPattern, PreparedGroup, PreparedPatterns, RuleGroupName } from './compiled-pattern.js';
import type { WordLookup } from './parse-pattern.js';
import type { PatternProblem } from './pattern-node.js';
import { type PreparedPattern, preparePattern } from './prepare-pattern.js';

/** Tells a mistake in a rule's pattern. `path` leads to the pattern inside the rule. */
export type ReportPattern = (problem: PatternProblem, rule: Rule, path: readonly (string | number)[]) => void;

/**
 * Prepares every pattern of some rules and indexes their literals, so that a bundle can carry the result and a start need
 * not repeat it. Patterns with mistakes are reported and left out. Deprecated rules never run and have no patterns.
 */
export function preparePatterns(rules: readonly Rule[], words: WordLookup, report: ReportPattern): PreparedPatterns {
  const programs = new ProgramWriter();
  const prepare = (group: RuleGroupName): PreparedGroup => prepareGroup(rules, group, words, programs, report);
  return { raw: prepare('raw'), folded: prepare('folded'), programs };
}

function prepareGroup(
  rules: readonly Rule[],
  group: RuleGroupName,
  words: WordLookup,
  programs: ProgramWriter,
  report: ReportPattern,
): PreparedGroup {
  const bySource = new Map<string, UsedPattern>();
  const byMeaning = new Map<string, UsedPattern>();
  const used = mapPatterns(rules, group, (source, use, rule, path): UsedPattern | undefined => {
    const form = choosePatternForm(rule);
    const known = bySource.get(`${form} ${use} ${source}`);
    if (known) return known;
    const made = preparePattern(source, form, words);
    if (!made.ok) {
      for (const problem of made.problems) report(problem, rule, path);
      return undefined;
    }
    const meaning = `${use} ${made.pattern.source}`;
    const same = byMeaning.get(meaning) ?? { use, pattern: made.pattern };
    byMeaning.set(meaning, same);
    bySource.set(`${form} ${use} ${source}`, same);
    return same;
  });
  const distinct = [...byMeaning.values()];
  const steps = indexLiterals(distinct.map(({ use, pattern }) => (use === 'match' ? pattern.alternatives : [])));
  const exceptions = indexLiterals(
    distinct.map(({ use, pattern }) => (use === 'except' && isWide(pattern) ? pattern.alternatives : [])),
  );
  const addresses = new Map<string, number>();
  const indexed = new Map<UsedPattern, IndexedPattern>();
  distinct.forEach((one, at) => {
    const { source, longest, scripts, alternatives } = one.pattern;
    indexed.set(one, {
      program() {
        const address = addresses.get(source) ?? compileSource(source, programs);
        addresses.set(source, address);
        return address;
      },
      longest,
      scripts,
      frequency: estimatePatternFrequency(alternatives),
      alternatives: (one.use === 'match' ? steps : exceptions).alternatives[at] ?? [],
    });
  });
  const all = (list: readonly (UsedPattern | undefined)[]) => list.map((one) => one && indexed.get(one));
  const patterns = new Map(
    [...used].map(([id, { steps, except }]) => [id, { steps: steps.map(all), except: all(except) }]),
  );
  return { patterns, index: steps.index, exceptIndex: exceptions.index };
}

interface UsedPattern {
  readonly use: PatternUse;
  readonly pattern: PreparedPattern;
}

/** Whether a pattern is of a step or an exception of its rule. */
export type PatternUse = 'match' | 'except';

/** Maps the patterns of a group's rules, by the rule's id: those of its steps, then its exceptions. */
export function mapPatterns<T>(
  rules: readonly Rule[],
  group: RuleGroupName,
  map: (source: string, use: PatternUse, rule: Rule, path: readonly (string | number)[]) => T,
): ReadonlyMap<string, { readonly steps: readonly (readonly T[])[]; readonly except: readonly T[] }> {
  const active = rules.filter((rule) => rule.status !== 'deprecated' && chooseGroup(rule) === group);
  return new Map(
    active.map((rule) => {
      const { steps } = readSteps(rule.match);
      return [
        rule.id,
        {
          steps: steps.map(({ patterns, path }) => patterns.map((it, at) => map(it, 'match', rule, [...path, at]))),
          except: rule.except.map((it, at) => map(it, 'except', rule, ['except', at])),
        },
      ];
    }),
  );
}

/** Running a pattern on every text costs more than any literal. */
const UNFILTERED = 1000;

function estimatePatternFrequency(alternatives: readonly Alternative[]): number {
  if (alternatives.length === 0) return UNFILTERED;
  return alternatives.reduce((sum, { required }) => sum + Math.min(...required.map(({ frequency }) => frequency)), 0);
}
