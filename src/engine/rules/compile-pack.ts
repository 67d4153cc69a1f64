import type { RegexCompiler } from '../ports.js';
import { compileRules } from './compile-rules.js';
import { findNearMisses } from './near-misses.js';
import { PackError } from './pack-error.js';
import { scanViews } from './scan-views.js';
import { makeShards, SHARD_PLAN, type Shard } from './shards.js';
import type { CompiledPack, Pack } from './types.js';

/** How to compile; only tests and benches need it. */
export interface CompileOptions {
  /** False: every pattern is run alone, without sets. Slow; the answer is the same. Default true. */
  readonly sets?: boolean | undefined;
}

/**
 * Compiles a pack for scanning. Compile once, scan many.
 *
 * @throws PackError with all mistakes of all rules and word lists
 */
export function compilePack(pack: Pack, compiler: RegexCompiler, options: CompileOptions = {}): CompiledPack {
  const { rules, atoms, problems } = compileRules(pack, compiler);
  if (problems.length > 0) throw new PackError(problems);
  const withSets = makeShards(atoms, compiler, SHARD_PLAN);
  const shards = options.sets === false ? withSets.map((shard): Shard => ({ ...shard, set: undefined })) : withSets;
  const parts = { rules, shards, compiler, paranoia: pack.paranoia };
  return {
    name: pack.name,
    rulesVersion: pack.rulesVersion,
    threshold: pack.threshold,
    paranoia: pack.paranoia,
    rules: pack.layers.flatMap((layer) => layer.rules),
    size: { patterns: atoms.length, sets: shards.length },
    scan: (views, scanOptions) => scanViews(parts, views, scanOptions),
    nearMisses: (views) => findNearMisses(parts, views),
  };
}
