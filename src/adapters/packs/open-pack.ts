import { compilePack } from '../../engine/rules/compile-pack.js';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import type { CompiledPack } from '../../engine/rules/types.js';
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
export function openPack(options: Partial<LoadOptions> = {}): CompiledPack {
  return compileLoaded(loadPack({ today: new Date().toISOString().slice(0, 10), ...options }));
}

/** Compiles packs that `loadPack` gave. @throws PackError with every mistake, each with its file, line and a caret */
export function compileLoaded(loaded: LoadedPack): CompiledPack {
  try {
    return compilePack(loaded.pack);
  } catch (error) {
    throw error instanceof PackError ? withPlaces(error, loaded.sources) : error;
  }
}
