import type { Classifier, Engine } from '../index.js';
import { CliError } from './cli-error.js';
import type { EngineFlags } from './engine-flags.js';

const modelFor = async ({ mode, model }: EngineFlags): Promise<Classifier | false> => {
  const { findModel, loadModel } = await import('../index.js');
  if (mode === 'rules' || model === 'off') return false;
  const folder = model ?? findModel();
  if (folder !== undefined) return loadModel(folder);
  if (mode === undefined) return false;
  throw new CliError(
    `Mode ${mode} needs a model, and none is installed. Give one with --model FOLDER, or use --mode rules.`,
  );
};

/**
 * The engine that the flags ask for; with none of them, the library's default engine.
 * @throws CliError, PackError, ModelError or ConfigError with what to mend.
 */
export const openEngine = async (flags: EngineFlags): Promise<Engine> => {
  const { createEngine, defaultEngine, loadPack } = await import('../index.js');
  const { mode, pack, overlay, model } = flags;
  if (mode === undefined && pack === undefined && overlay === undefined && model === undefined) return defaultEngine();
  if (model === 'off' && (mode === 'hybrid' || mode === 'shadow'))
    throw new CliError(`Mode ${mode} needs a model: leave out --model off.`);
  const compiled = loadPack({ packs: pack, overlays: overlay });
  return createEngine({ pack: compiled, model: await modelFor(flags), ...(mode === undefined ? {} : { mode }) });
};
