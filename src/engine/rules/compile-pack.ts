import type { RegexCompiler } from '../ports.js';
import { compileRules } from './compile-rules.js';
import { type CompiledRule, formOf, viewBit } from './compiled-rule.js';
import { PackError } from './pack/pack-error.js';
import { buildPlainFinder, buildRuleFinder, type RuleFinder } from './prefilter/rule-finder.js';
import { findNearMisses } from './scan/near-misses.js';
import { type ScanParts, scanViews } from './scan/scan-views.js';
import type { CompiledPack, Pack, Paranoia } from './types.js';

/** How to compile; only tests and benches need it. */
export interface CompileOptions {
  /** True: every pattern of every rule is run alone on every text. Slow; the answer is the same. */
  readonly plain?: boolean | undefined;
}

/**
 * Compiles a pack for scanning. Compile once, scan many.
 *
 * @throws PackError with all mistakes of all rules and word lists
 */
export function compilePack(pack: Pack, compiler: RegexCompiler, options: CompileOptions = {}): CompiledPack {
  const { rules, patterns, problems } = compileRules(pack, compiler);
  if (problems.length > 0) throw new PackError(problems);
  const finders = new Map<string, readonly RuleFinder[]>();
  const findersFor = (isRaw: boolean, level: Paranoia): readonly RuleFinder[] => {
    const key = `${isRaw} ${level}`;
    const known = finders.get(key);
    if (known) return known;
    const made = groupRules(rules, isRaw, level).map((group) =>
      options.plain ? buildPlainFinder(group) : buildRuleFinder(group, compiler),
    );
    finders.set(key, made);
    return made;
  };
  const sizes = [true, false].flatMap((isRaw) => findersFor(isRaw, pack.paranoia).map(({ size }) => size));
  const parts: ScanParts = { rules, findersFor, compiler, paranoia: pack.paranoia };
  return {
    name: pack.name,
    rulesVersion: pack.rulesVersion,
    threshold: pack.threshold,
    paranoia: pack.paranoia,
    rules: pack.layers.flatMap((layer) => layer.rules),
    size: {
      patterns,
      sets: sizes.reduce((sum, size) => sum + size.sets, 0),
      literals: sizes.reduce((sum, size) => sum + size.literals, 0),
    },
    scan: (views, scanOptions) => scanViews(parts, views, scanOptions),
    nearMisses: (views) => findNearMisses(parts, views),
  };
}

/** Rules that read the raw view (or the folded ones) at a level, those with patterns as written apart from the folded. */
function groupRules(
  rules: readonly CompiledRule[],
  isRaw: boolean,
  level: Paranoia,
): readonly (readonly CompiledRule[])[] {
  const raw = viewBit('raw');
  const readers = rules.filter(
    ({ rule, views }) => rule.paranoia <= level && (isRaw ? (views & raw) !== 0 : (views & ~raw) !== 0),
  );
  const groups = [
    readers.filter(({ rule }) => formOf(rule) === 'raw'),
    readers.filter(({ rule }) => formOf(rule) !== 'raw'),
  ];
  return groups.filter((group) => group.length > 0);
}
