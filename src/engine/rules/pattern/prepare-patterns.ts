import { chooseGroup, choosePatternForm, patternKey, readSteps } from '../compiled-rule.js';
import { compileSource } from '../matcher/pattern.js';
import { ProgramWriter } from '../matcher/programs.js';
import { indexLiterals } from '../prefilter/literal-index.js';
import type { Alternative } from '../prefilter/literal-set.js';
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
  const byKey = new Map<string, PreparedPattern>();
  const byMeaning = new Map<string, PreparedPattern>();
  const inSteps = new Set<PreparedPattern>();
  for (const { source, rule, path } of listSources(rules, group)) {
    const key = patternKey(rule, source);
    if (!byKey.has(key)) {
      const made = preparePattern(source, choosePatternForm(rule), words);
      if (!made.ok) {
        for (const problem of made.problems) report(problem, rule, path);
        continue;
      }
      const same = byMeaning.get(made.pattern.source) ?? made.pattern;
      byMeaning.set(made.pattern.source, same);
      byKey.set(key, same);
    }
    if (path[0] === 'match') inSteps.add(byKey.get(key) as PreparedPattern);
  }
  const distinct = [...byMeaning.values()];
  // Exceptions run only where their rule fires: their literals would be found for nothing.
  const wanted = distinct.map((pattern) => (inSteps.has(pattern) ? pattern.alternatives : []));
  const { index, alternatives } = indexLiterals(wanted);
  const indexed = new Map<PreparedPattern, IndexedPattern>();
  distinct.forEach((pattern, at) => {
    const { source, longest, scripts } = pattern;
    const frequency = estimatePatternFrequency(pattern.alternatives);
    let address: number | undefined;
    indexed.set(pattern, {
      program() {
        address ??= compileSource(source, programs);
        return address;
      },
      longest,
      scripts,
      frequency,
      alternatives: alternatives[at] ?? [],
    });
  });
  const patterns = new Map([...byKey].map(([key, pattern]) => [key, indexed.get(pattern) as IndexedPattern]));
  return { patterns, index };
}

/** The patterns of some rules as their authors wrote them, with the path that leads to each in its rule. */
function* listSources(
  rules: readonly Rule[],
  group: RuleGroupName,
): Generator<{ readonly source: string; readonly rule: Rule; readonly path: readonly (string | number)[] }> {
  for (const rule of rules) {
    if (rule.status === 'deprecated' || chooseGroup(rule) !== group) continue;
    for (const { patterns, path } of [...readSteps(rule.match).steps, { path: ['except'], patterns: rule.except }]) {
      for (const [at, source] of patterns.entries()) yield { source, rule, path: [...path, at] };
    }
  }
}

/** The keys of the distinct patterns of some rules, in the order of `PreparedGroup.patterns` when none has a mistake. */
export function listPatternKeys(rules: readonly Rule[], group: RuleGroupName): readonly string[] {
  return [...new Set([...listSources(rules, group)].map(({ rule, source }) => patternKey(rule, source)))];
}

/** Running a pattern on every text costs more than any literal. */
const UNFILTERED = 1000;

function estimatePatternFrequency(alternatives: readonly Alternative[]): number {
  if (alternatives.length === 0) return UNFILTERED;
  return alternatives.reduce((sum, { required }) => sum + Math.min(...required.map(({ frequency }) => frequency)), 0);
}
