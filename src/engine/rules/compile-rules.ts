import {
  type CompiledRule,
  chooseGroup,
  choosePatternForm,
  countedScore,
  measureMaxSpan,
  readSteps,
  viewBit,
} from './compiled-rule.js';
import { compileSource, createPattern, type Pattern } from './matcher/pattern.js';
import { ProgramWriter } from './matcher/programs.js';
import type { PackPlace, PackProblem } from './pack/pack-error.js';
import { createWordLookup } from './pack/word-lists.js';
import {
  type CompiledPattern,
  type IndexedPattern,
  type PreparedPatterns,
  RULE_GROUPS,
  type RulePatterns,
} from './pattern/compiled-pattern.js';
import type { WordLookup } from './pattern/parse-pattern.js';
import { PatternError } from './pattern/pattern-error.js';
import { type PatternForm, preparePattern } from './pattern/prepare-pattern.js';
import { preparePatterns } from './pattern/prepare-patterns.js';
import type { LiteralIndex } from './prefilter/literal-index.js';
import type { Allowance, Pack, PackLayer, Rule } from './types.js';

/** Rules of one layer that share a prefilter. */
export interface RuleGroup {
  readonly rules: readonly CompiledRule[];
  readonly index: LiteralIndex;
  /** See `PreparedGroup.exceptIndex`. */
  readonly exceptIndex: LiteralIndex;
}

/** Options for tests and benchmarks. */
export interface CompileOptions {
  /** True: no prefilter; every pattern of every rule runs on every text. Slow, with the same result. */
  readonly plain?: boolean | undefined;
}

export interface CompiledRules {
  readonly rules: readonly CompiledRule[];
  readonly groups: readonly RuleGroup[];
  /** Distinct patterns. */
  readonly patterns: readonly CompiledPattern[];
  readonly problems: readonly PackProblem[];
}

/** Prepares and compiles every pattern of a pack's active rules. Mistakes are collected, not thrown. */
export function compileRules(pack: Pack): CompiledRules {
  const problems: PackProblem[] = [];
  const rules: CompiledRule[] = [];
  const groups: RuleGroup[] = [];
  const patterns: CompiledPattern[] = [];
  for (const layer of pack.layers) {
    const compiled = compileLayer(layer, pack, rules.length, problems);
    rules.push(...compiled.rules);
    groups.push(...compiled.groups);
    patterns.push(...compiled.patterns);
  }
  return { rules, groups, patterns, problems };
}

function compileLayer(
  layer: PackLayer,
  pack: Pack,
  firstIndex: number,
  problems: PackProblem[],
): Omit<CompiledRules, 'problems'> {
  const words = lazyWordLookup(layer, problems);
  const prepared: PreparedPatterns =
    layer.prepared ??
    preparePatterns(layer.rules, words, ({ at, length, ...problem }, { id }, path) => {
      problems.push({ ...problem, place: { in: 'rule', name: id, path, at, length } });
    });
  const isChecked = pack.isChecked || layer.prepared !== undefined;
  const build = (indexed: IndexedPattern): Pattern => {
    const pattern = createPattern(prepared.programs, indexed.program);
    if (!isChecked) pattern.compile();
    return pattern;
  };
  const compiled = new Map<IndexedPattern, readonly CompiledPattern[]>();
  const compileAll: PatternsCompiler = (patterns, rule, path) =>
    patterns.flatMap((indexed, at) => {
      if (indexed === undefined) return [];
      const place: PackPlace = { in: 'rule', name: rule.id, path: [...path, at] };
      const known = compiled.get(indexed) ?? compilePattern(indexed, build, place, problems);
      compiled.set(indexed, known);
      return known;
    });

  const allowances = compileAllowances(pack.allow, words, problems);
  const active = layer.rules.filter((rule) => rule.status !== 'deprecated');
  const rules = active.map((rule, at) => {
    const patterns = prepared[chooseGroup(rule)].patterns.get(rule.id) as RulePatterns;
    return compileRule(rule, firstIndex + at, patterns, compileAll, allowances);
  });
  const groups = RULE_GROUPS.map((name) => ({
    rules: rules.filter(({ rule }) => chooseGroup(rule) === name),
    index: prepared[name].index,
    exceptIndex: prepared[name].exceptIndex,
  }));
  return {
    rules,
    groups: groups.filter((group) => group.rules.length > 0),
    patterns: [...compiled.values()].flat(),
  };
}

/** A lookup that reads and parses the lists of a layer when a pattern first uses one: prepared patterns need none. */
export function lazyWordLookup(layer: Pick<PackLayer, 'words'> | undefined, problems: PackProblem[]): WordLookup {
  let lookup: WordLookup | undefined;
  return (...wanted) => {
    lookup ??= createWordLookup(layer?.words ?? {}, ({ list, entry, problem }) => {
      const { at, length, ...rest } = problem;
      problems.push({ ...rest, place: { in: 'words', name: list, path: [list, entry], at, length } });
    });
    return lookup(...wanted);
  };
}

type PatternsCompiler = (
  patterns: RulePatterns['except'],
  rule: Rule,
  path: PackPlace['path'],
) => readonly CompiledPattern[];

function compileRule(
  rule: Rule,
  index: number,
  patterns: RulePatterns,
  compileAll: PatternsCompiler,
  allowances: AllowanceLookup,
): CompiledRule {
  const { shape, steps } = readSteps(rule.match);
  const compiledSteps = steps.map(({ path }, at) => compileAll(patterns.steps[at] ?? [], rule, path));
  return {
    index,
    rule,
    score: countedScore(rule),
    views: rule.views.reduce((mask, view) => mask | viewBit(view), 0),
    shape,
    steps: compiledSteps,
    order: orderSteps(compiledSteps),
    except: [...compileAll(patterns.except, rule, ['except']), ...allowances(rule)],
    maxSpan: measureMaxSpan(shape, compiledSteps),
  };
}

/** One pattern, or none with its mistake reported. */
function compilePattern(
  indexed: IndexedPattern,
  build: (indexed: IndexedPattern) => Pattern,
  place: PackPlace,
  problems: PackProblem[],
): readonly CompiledPattern[] {
  const { longest, scripts, frequency, alternatives } = indexed;
  try {
    return [{ pattern: build(indexed), longest, scripts, frequency, alternatives }];
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const message = `This pattern can't be compiled: ${error.message}.`;
    problems.push({ code: 'PACK027', message, advice: 'See the RE2 syntax page.', place });
    return [];
  }
}

/** Indices of the steps, the one whose literals are least common first. */
function orderSteps(steps: readonly (readonly CompiledPattern[])[]): readonly number[] {
  const frequencies = steps.map((patterns) => patterns.reduce((sum, { frequency }) => sum + frequency, 0));
  return steps.map((_, step) => step).sort((a, b) => (frequencies[a] as number) - (frequencies[b] as number));
}

/**
 * Steps a character for a pattern of an allow-list, whose author may be a tenant: one that takes more excepts nothing. Each is sought once in a
 * view, as if it had no longest match.
 */
const PATIENCE = 16;

/** The allow-list's patterns for a rule: exceptions, which need no literals. */
export type AllowanceLookup = (rule: Rule) => readonly CompiledPattern[];

/** Compiles an allow-list, each entry once for each form that rules need. Mistakes are collected, not thrown. */
export function compileAllowances(
  allow: readonly Allowance[],
  words: WordLookup,
  problems: PackProblem[],
): AllowanceLookup {
  const writer = new ProgramWriter();
  const compiled = new Map<string, readonly CompiledPattern[]>();
  const compileEntry = (entry: Allowance, index: number, form: PatternForm): readonly CompiledPattern[] => {
    const source = entry.pattern ?? (entry.text === undefined ? undefined : quoteText(entry.text, form));
    if (source === undefined) return [];
    const place: PackPlace = { in: 'overlay', name: '', path: ['allow', index] };
    const prepared = preparePattern(source, form, words);
    if (!prepared.ok) {
      for (const { at, length, ...problem } of prepared.problems) {
        problems.push({ ...problem, place: { ...place, at, length } });
      }
      return [];
    }
    const { source: exact, scripts } = prepared.pattern;
    const program = (): number => compileSource(exact, writer);
    const build = (): Pattern => {
      const pattern = createPattern(writer, program, PATIENCE);
      pattern.compile();
      return pattern;
    };
    const longest = Number.POSITIVE_INFINITY;
    return compilePattern({ program, longest, scripts, frequency: 0, alternatives: [] }, build, place, problems);
  };
  return (rule) => {
    const form = choosePatternForm(rule);
    return allow.flatMap((entry, index) => {
      if (entry.rule !== undefined && entry.rule !== rule.id) return [];
      const key = `${form} ${index}`;
      const known = compiled.get(key) ?? compileEntry(entry, index, form);
      compiled.set(key, known);
      return known;
    });
  };
}

/** A text as a pattern. White space is folded in the view, so one separator stands for any run of it. */
function quoteText(text: string, form: PatternForm): string {
  const quote = (literal: string): string => literal.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return form === 'raw' ? quote(text) : quote(text.trim().toLowerCase()).replace(/\s+/g, '[ \\n]+');
}
