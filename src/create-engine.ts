import { newEvidenceId } from './adapters/evidence-id.js';
import { openPack } from './adapters/packs/open-pack.js';
import { systemClock } from './adapters/system-clock.js';
import { createEngine as createEngineOf, type Engine, type EngineParts } from './engine/engine.js';

/** The parts of an engine; what is left out is the library's own. */
export type EngineOptions = Partial<EngineParts>;

/**
 * Makes an engine. Without a `pack` it has the one that comes with the library, without a `model` the rules alone.
 *
 * @throws ConfigError that names every setting that doesn't fit; PackError
 */
export function createEngine(options: EngineOptions = {}): Engine {
  return createEngineOf({
    ...options,
    pack: options.pack ?? openPack(),
    clock: options.clock ?? systemClock,
    newEvidenceId: options.newEvidenceId ?? newEvidenceId,
  });
}
