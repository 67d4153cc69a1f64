import type { RegexCompiler } from '../../engine/ports.js';
import { compilePack } from '../../engine/rules/compile-pack.js';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import type { CompiledPack } from '../../engine/rules/types.js';
import { createRe2Compiler, re2Compiler } from '../re2/re2-compiler.js';
import { type LoadedPack, type LoadOptions, loadPack } from './load-pack.js';
import { withPlaces } from './pack-folder.js';

/**
 * Loads packs and overlays from files and compiles them: with no options the pack that comes with the library.
 * Synchronous; takes part of a second, so do it once.
 *
 * @throws PackError with every mistake, each with its file, line and a caret
 * @example
 * ```ts
 * const pack = loadPack({ packs: ['./our-pack'], overlays: ['./overlay.yaml'] });
 * const engine = createEngine({ pack });
 * ```
 */
export function openPack({ regexMemoryMb, ...options }: OpenOptions = {}): CompiledPack {
  const loaded = loadPack({ today: new Date().toISOString().slice(0, 10), ...options });
  return compileLoaded(loaded, regexMemoryMb === undefined ? re2Compiler : createRe2Compiler(regexMemoryMb));
}

export interface OpenOptions extends Partial<LoadOptions> {
  /** A bound of this pack's own instead of the one of the process: see `EngineLimits`. */
  readonly regexMemoryMb?: number | undefined;
}

/** Compiles packs that `loadPack` gave. @throws PackError with every mistake, each with its file, line and a caret */
export function compileLoaded(loaded: LoadedPack, compiler: RegexCompiler = re2Compiler): CompiledPack {
  try {
    return compilePack(loaded.pack, compiler);
  } catch (error) {
    throw error instanceof PackError ? withPlaces(error, loaded.sources) : error;
  }
}
