import {
  type Classifier,
  createEngine,
  type Engine,
  findModel,
  loadModel,
  loadPack,
  ModelError,
  unavailableModel,
} from '../index.js';
import type { ScorerSettings } from './scorer-settings.js';

/** The engine of one scorer, and a second one that answers as if the model had just failed. */
export interface ScorerEngine {
  readonly engine: Engine;
  /** The same rules, thresholds and versions; each call that would ask the model ends as `ml-error-rules-fallback`. */
  readonly withoutModel: Engine;
}

/**
 * Opens an engine whose model runs in this very process, and warms it up.
 *
 * @throws ConfigError, PackError; ModelError where the mode asks for a model that can't be had
 */
export async function openScorerEngine(settings: ScorerSettings): Promise<ScorerEngine> {
  const pack = loadPack({
    packs: settings.packs,
    overlays: settings.overlays,
    ...(settings.today === undefined ? {} : { today: settings.today }),
  });
  const { model, modeReason } = await modelOf(settings);
  const { mode, thresholds, timeoutMs, limits } = settings;
  const parts = { pack, modeReason, mode, thresholds, timeoutMs, limits };
  const engine = createEngine({ ...parts, model });
  const withoutModel = createEngine({ ...parts, model: model && failing(model) });
  try {
    await engine.warmUp();
  } catch (error) {
    // The scorer still answers, by the rules, and each answer says so.
    if (!(error instanceof ModelError)) throw error;
  }
  return { engine, withoutModel };
}

interface FoundModel {
  readonly model: Classifier | false;
  readonly modeReason?: string;
}

async function modelOf(settings: ScorerSettings): Promise<FoundModel> {
  if (settings.mode === 'rules' || settings.model === false) return { model: false };
  const folder = settings.model ?? findModel();
  if (folder === undefined) return { model: false, modeReason: 'no model is installed' };
  try {
    return { model: await loadModel(folder, { isolation: 'inline' }) };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const byDefault = settings.model === undefined && settings.mode === undefined;
    if (error.code === 'MODEL_RUNTIME_MISSING' && byDefault) return { model: false, modeReason: error.message };
    // Named by the caller and not there is a mistake to mend; damaged is trouble to live with.
    if (settings.model !== undefined && error.code === 'MODEL_MISSING') throw error;
    return { model: unavailableModel(error), modeReason: error.message };
  }
}

function failing(model: Classifier): Classifier {
  const lost = (): Promise<never> =>
    Promise.reject(new ModelError('MODEL_CRASHED', 'a scorer was lost over this text'));
  return { info: model.info, classify: lost, warmUp: lost, close: () => Promise.resolve() };
}
