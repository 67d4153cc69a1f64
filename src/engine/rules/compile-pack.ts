import { overlayThresholds } from '../channel.js';
import type { RegexCompiler } from '../ports.js';
import { type AllowanceLookup, type CompileOptions, compileAllowances, compileRules } from './compile-rules.js';
import { type CompiledRule, countedScore } from './compiled-rule.js';
import { PackError, type PackProblem } from './pack/pack-error.js';
import { changeRule } from './pack/stack-packs.js';
import { createWordLookup } from './pack/word-lists.js';
import type { CompiledPattern } from './pattern/compiled-pattern.js';
import { buildPlainPrefilter, buildPrefilter } from './prefilter/prefilter.js';
import { findNearMisses } from './scan/near-misses.js';
import { type ScanParts, scanViews } from './scan/scan-views.js';
import type { Allowance, CompiledPack, Pack, PackChange } from './types.js';

/**
 * Compiles a pack for scanning. Compile once, scan many.
 *
 * @throws PackError with all mistakes of all rules and word lists
 */
export function compilePack(pack: Pack, compiler: RegexCompiler, options: CompileOptions = {}): CompiledPack {
  const { rules, groups, patterns, problems } = compileRules(pack, compiler, options);
  if (problems.length > 0) throw new PackError(problems);
  const prefilters = groups.map((group) =>
    options.plain ? buildPlainPrefilter(group.rules) : buildPrefilter(group.rules, group.index, compiler),
  );
  const warmUp = createWarmUp(patterns, compiler);
  const parts: ScanParts = { rules, prefilters, compiler, paranoia: pack.paranoia };
  return assemblePack(pack, {
    parts,
    warmUp,
    size: {
      patterns: patterns.length,
      sets: prefilters.reduce((sum, { size }) => sum + size.sets, 0),
      literals: prefilters.reduce((sum, { size }) => sum + size.literals, 0),
    },
  });
}

interface CompiledParts {
  readonly parts: ScanParts;
  readonly warmUp: ReturnType<typeof createWarmUp>;
  readonly size: CompiledPack['size'];
}

function assemblePack(pack: Pack, compiled: CompiledParts): CompiledPack {
  const { parts, warmUp, size } = compiled;
  return {
    name: pack.name,
    packs: pack.layers.map((layer) => ({
      name: layer.name,
      version: layer.version,
      rules: layer.rules.filter(({ status }) => status !== 'deprecated').length,
    })),
    rulesVersion: pack.rulesVersion,
    threshold: pack.threshold,
    modelThreshold: pack.modelThreshold,
    paranoia: pack.paranoia,
    rules: pack.layers.flatMap((layer) => layer.rules),
    size,
    get memory() {
      return parts.compiler.memory;
    },
    warmUp: (goOn = () => true) => warmUp(COMMON_PATTERNS, goOn),
    warmUpRest: (goOn) => warmUp(Number.POSITIVE_INFINITY, goOn),
    scan: (views, scanOptions) => scanViews(parts, views, scanOptions),
    nearMisses: (views) => findNearMisses(parts, views),
    withChange: (change) => changedPack(pack, compiled, change),
  };
}

/** Reports mistakes in an allow-list on top of a pack. Compiles its patterns, not the pack's. */
export function allowListProblems(
  { layers }: Pack,
  allow: readonly Allowance[],
  compiler: RegexCompiler,
): readonly PackProblem[] {
  const problems: PackProblem[] = [];
  // The uppermost pack sees the word lists of all.
  const lookup = createWordLookup(layers.at(-1)?.words ?? {}, () => {});
  const allowances = compileAllowances(allow, lookup, compiler, problems);
  for (const { rules } of layers) for (const rule of rules) allowances(rule);
  return problems;
}

/** A compiled pack with an overlay's change on top. Only what differs is made anew. */
function changedPack(pack: Pack, compiled: CompiledParts, change: PackChange): CompiledPack {
  const { parts } = compiled;
  const problems: PackProblem[] = [];
  const lookups = new Map<string, AllowanceLookup>();
  for (const { words, rules } of pack.layers) {
    const lookup = createWordLookup(words, () => {});
    const allowances = compileAllowances(change.allow, lookup, parts.compiler, problems);
    for (const { id } of rules) lookups.set(id, allowances);
  }
  const rules: CompiledRule[] = [];
  const changed = new Map(parts.changed);
  for (const before of parts.rules) {
    const after = changedRule(before, change, lookups.get(before.rule.id));
    rules.push(after ?? before);
    if (after !== before) changed.set(before.index, after ?? null);
  }
  if (problems.length > 0) throw new PackError(problems);
  const { threshold = pack.threshold, paranoia = pack.paranoia } = change;
  const modelThreshold = overlayThresholds(change.modelThreshold, pack.modelThreshold);
  const ruleById = new Map(rules.map(({ rule }) => [rule.id, rule]));
  const isOff = (id: string): boolean => Object.hasOwn(change.rules, id) && change.rules[id] === 'off';
  const layers = pack.layers.map((layer) => ({
    ...layer,
    rules: layer.rules.flatMap((rule) => (isOff(rule.id) ? [] : (ruleById.get(rule.id) ?? rule))),
  }));
  const { rulesVersion } = change;
  return assemblePack(
    { ...pack, rulesVersion, threshold, modelThreshold, paranoia, layers },
    { ...compiled, parts: { ...parts, rules, changed, paranoia } },
  );
}

/** The rule itself where nothing about it changes; undefined for one that is switched off. */
function changedRule(
  before: CompiledRule,
  change: PackChange,
  allowances: AllowanceLookup | undefined,
): CompiledRule | undefined {
  const wanted = Object.hasOwn(change.rules, before.rule.id) ? change.rules[before.rule.id] : undefined;
  if (wanted === 'off') return undefined;
  const except = allowances?.(before.rule) ?? [];
  if (wanted === undefined && except.length === 0) return before;
  const rule = changeRule(before.rule, wanted);
  return {
    ...before,
    rule,
    score: countedScore(rule),
    except: [...before.except, ...except],
  };
}

/** Patterns that a short warm-up compiles: some 60 ms and 16 MB, for a fourth of what 1,230 texts of 1 kB compile. */
const COMMON_PATTERNS = 200;

/**
 * Compiles patterns, those whose literals are most common first, so that no text needs to wait for them. Resumes where it stopped; ends
 * where more would push the first ones out of the compiler's memory.
 */
function createWarmUp(patterns: readonly CompiledPattern[], compiler: RegexCompiler): WarmUp {
  let byFrequency: readonly CompiledPattern[] | undefined;
  let next = 0;
  return (until, goOn) => {
    byFrequency ??= [...patterns].sort((a, b) => b.frequency - a.frequency);
    const end = Math.min(until, byFrequency.length);
    const subject = compiler.prepare(' ');
    while (next < end) {
      const { memory } = compiler;
      if (memory && memory.usedMb >= memory.limitMb) return true;
      byFrequency[next]?.pattern.occursIn(subject, { start: 0, end: 1 });
      next += 1;
      if (!goOn()) break;
    }
    return next >= end;
  };
}

/** Compiles up to this many patterns in all, while `goOn` says so; true when none of them is left. */
type WarmUp = (until: number, goOn: () => boolean) => boolean;
