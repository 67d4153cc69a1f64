import { overlayThresholds } from '../channel.js';
import {
  type AllowanceLookup,
  type CompileOptions,
  compileAllowances,
  compileRules,
  lazyWordLookup,
} from './compile-rules.js';
import { type CompiledRule, countedScore } from './compiled-rule.js';
import { PackError, type PackProblem } from './pack/pack-error.js';
import { changeRule } from './pack/stack-packs.js';
import type { CompiledPattern } from './pattern/compiled-pattern.js';
import { buildPlainPrefilter, buildPrefilter } from './prefilter/prefilter.js';
import { findNearMisses, type ScanParts, scanViews } from './scan/scan-views.js';
import type { Allowance, CompiledPack, Pack, PackChange, PackLayer, Rule } from './types.js';

/**
 * Compiles a pack for scanning. Compile once, scan many.
 *
 * @throws PackError with all mistakes of all rules and word lists
 */
export function compilePack(pack: Pack, options: CompileOptions = {}): CompiledPack {
  const { rules, groups, patterns, problems } = compileRules(pack);
  if (problems.length > 0) throw new PackError(problems);
  const prefilters = groups.map((group) =>
    options.plain ? buildPlainPrefilter(group.rules) : buildPrefilter(group.rules, group.index, group.exceptIndex),
  );
  const warmUp = createWarmUp(patterns);
  const parts: ScanParts = { rules, prefilters, paranoia: pack.paranoia };
  return assemblePack(pack, {
    parts,
    warmUp,
    size: {
      patterns: patterns.length,
      literals: prefilters.reduce((sum, { literals }) => sum + literals, 0),
    },
  });
}

/**
 * Empty options for `compilePack`, which took a compiler until 1.4.
 *
 * @deprecated Patterns are matched by the library itself.
 */
export const re2Compiler: CompileOptions = {};

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
    warmUp,
    scan: (views, scanOptions) => scanViews(parts, views, scanOptions),
    nearMisses: (views) => findNearMisses(parts, views),
    withChange: (change) => changedPack(pack, compiled, change),
  };
}

/** Reports mistakes in an allow-list on top of a pack. Compiles its patterns, not the pack's. */
export function allowListProblems({ layers }: Pack, allow: readonly Allowance[]): readonly PackProblem[] {
  const problems: PackProblem[] = [];
  // The uppermost pack sees the word lists of all.
  const lookup = lazyWordLookup(layers.at(-1), []);
  const allowances = compileAllowances(allow, lookup, problems);
  for (const { rules } of layers) for (const rule of rules) allowances(rule);
  return problems;
}

/** A compiled pack with an overlay's change on top. Only what differs is made anew. */
function changedPack(pack: Pack, compiled: CompiledParts, change: PackChange): CompiledPack {
  const { parts } = compiled;
  const problems: PackProblem[] = [];
  const lookups = new Map<string, AllowanceLookup>();
  for (const layer of pack.layers) {
    const lookup = lazyWordLookup(layer, []);
    const allowances = compileAllowances(change.allow, lookup, problems);
    for (const { id } of layer.rules) lookups.set(id, allowances);
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
  const layers = pack.layers.map((layer) =>
    withRules(
      layer,
      layer.rules.flatMap((rule) => (isOff(rule.id) ? [] : (ruleById.get(rule.id) ?? rule))),
    ),
  );
  const { rulesVersion } = change;
  return assemblePack(
    { ...pack, rulesVersion, threshold, modelThreshold, paranoia, layers },
    { ...compiled, parts: { ...parts, rules, changed, paranoia } },
  );
}

/** A layer with other rules. Its word lists are not read. */
function withRules(layer: PackLayer, rules: readonly Rule[]): PackLayer {
  const { name, version, prepared } = layer;
  return {
    name,
    version,
    prepared,
    rules,
    get words() {
      return layer.words;
    },
  };
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

/** Compiles patterns that no bundle holds, so that no text needs to wait for them. Resumes where it stopped. */
function createWarmUp(patterns: readonly CompiledPattern[]): CompiledPack['warmUp'] {
  let next = 0;
  return (goOn = () => true) => {
    while (next < patterns.length) {
      patterns[next]?.pattern.compile();
      next += 1;
      if (!goOn()) break;
    }
    return next >= patterns.length;
  };
}
