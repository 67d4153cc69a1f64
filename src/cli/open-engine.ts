import type { Engine } from '../index.js';
import type { EngineFlags } from './engine-flags.js';

/**
 * The engine that the flags ask for; with none of them, the library's default engine.
 * @throws CliError, PackError, ModelError or ConfigError with what to mend.
 */
export const openEngine = async ({ mode, pack, overlay, model }: EngineFlags): Promise<Engine> => {
  const { createEngine, defaultEngine, findModel, loadModel } = await import('../index.js');
  if (mode === undefined && pack === undefined && overlay === undefined && model === undefined) return defaultEngine();
  throw new Error('pending');
};
