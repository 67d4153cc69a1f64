import type { RegexCompiler } from '../ports.js';
import { compileRules } from './compile-rules.js';
import { PackError } from './pack/pack-error.js';
import { buildPlainPrefilter, buildPrefilter } from './prefilter/prefilter.js';
import { findNearMisses } from './scan/near-misses.js';
import { type ScanParts, scanViews } from './scan/scan-views.js';
import type { CompiledPack, Pack } from './types.js';

/** How to compile; only tests and benches need it. */
export interface CompileOptions {
  /** True: no prefilter; every pattern of every rule runs alone on every text. Slow, with the same result. */
  readonly plain?: boolean | undefined;
}

/**
 * Compiles a pack for scanning. Compile once, scan many.
 *
 * @throws PackError with all mistakes of all rules and word lists
 */
export function compilePack(pack: Pack, compiler: RegexCompiler, options: CompileOptions = {}): CompiledPack {
  const { rules, groups, patterns, problems } = compileRules(pack, compiler);
  if (problems.length > 0) throw new PackError(problems);
  const prefilters = groups.map((group) =>
    options.plain ? buildPlainPrefilter(group.rules) : buildPrefilter(group.rules, group.index, compiler),
  );
  const parts: ScanParts = { rules, prefilters, compiler, paranoia: pack.paranoia };
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
    size: {
      patterns,
      sets: prefilters.reduce((sum, { size }) => sum + size.sets, 0),
      literals: prefilters.reduce((sum, { size }) => sum + size.literals, 0),
    },
    scan: (views, scanOptions) => scanViews(parts, views, scanOptions),
    nearMisses: (views) => findNearMisses(parts, views),
  };
}
