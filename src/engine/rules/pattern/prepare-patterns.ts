import { chooseGroup, choosePatternForm, type PatternUse, patternKey, readSteps } from '../compiled-rule.js';
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
  const byKey = new Map<string, UsedPattern>();
  const byMeaning = new Map<string, UsedPattern>();
  for (const { source, use, rule, path } of listSources(rules, group)) {
    const key = patternKey(rule, use, source);
    if (byKey.has(key)) continue;
    const made = preparePattern(source, choosePatternForm(rule), words);
    if (!made.ok) {
      for (const problem of made.problems) report(problem, rule, path);
      continue;
    }
    const meaning = `${use} ${made.pattern.source}`;
    const same = byMeaning.get(meaning) ?? { use, pattern: made.pattern };
    byMeaning.set(meaning, same);
    byKey.set(key, same);
  }
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
  const patterns = new Map([...byKey].map(([key, one]) => [key, indexed.get(one) as IndexedPattern]));
  return { patterns, index: steps.index, exceptIndex: exceptions.index };
}

interface UsedPattern {
  readonly use: PatternUse;
  readonly pattern: PreparedPattern;
}

/** The patterns of some rules as their authors wrote them, with the path that leads to each in its rule. */
function* listSources(rules: readonly Rule[], group: RuleGroupName): Generator<AuthoredPattern> {
  for (const rule of rules) {
    if (rule.status === 'deprecated' || chooseGroup(rule) !== group) continue;
    for (const { patterns, path } of readSteps(rule.match).steps) {
      for (const [at, source] of patterns.entries()) yield { source, use: 'match', rule, path: [...path, at] };
    }
    for (const [at, source] of rule.except.entries()) yield { source, use: 'except', rule, path: ['except', at] };
  }
}

interface AuthoredPattern {
  readonly source: string;
  readonly use: PatternUse;
  readonly rule: Rule;
  readonly path: readonly (string | number)[];
}

/** The keys of the distinct patterns of some rules, in the order of `PreparedGroup.patterns` when none has a mistake. */
export function listPatternKeys(rules: readonly Rule[], group: RuleGroupName): readonly string[] {
  return [...new Set([...listSources(rules, group)].map(({ rule, use, source }) => patternKey(rule, use, source)))];
}

/** Running a pattern on every text costs more than any literal. */
const UNFILTERED = 1000;

function estimatePatternFrequency(alternatives: readonly Alternative[]): number {
  if (alternatives.length === 0) return UNFILTERED;
  return alternatives.reduce((sum, { required }) => sum + Math.min(...required.map(({ frequency }) => frequency)), 0);
}
