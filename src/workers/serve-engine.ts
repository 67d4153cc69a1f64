import { LRUCache } from 'lru-cache';
import { createEngine } from '../adapters/create-engine.js';
import { loadModel, readThresholds } from '../adapters/model/load-model.js';
import { findModel } from '../adapters/model/model-folder.js';
import { openPack as loadPack } from '../adapters/packs/open-pack.js';
import { serveWorker } from '../adapters/peer.js';
import { overlayThresholds } from '../engine/channel.js';
import type { Engine } from '../engine/engine.js';
import type { EngineInfo } from '../engine/engine-settings.js';
import { ModelError, PortcullisError } from '../engine/errors.js';
import { JsonText } from '../engine/input.js';
import { unavailableModel } from '../engine/model/circuit-breaker.js';
import type { Classifier } from '../engine/ports.js';
import type { CompiledPack, PackChange } from '../engine/rules/types.js';
import type { Verdict } from '../engine/verdict.js';
import type { EngineWorkerSettings, ScoreCall, ToWorker } from './calls.js';

/** Does a task of a kind that the program knows. */
export type TaskRunner = (task: unknown, engine: Engine) => Promise<unknown>;

/** Makes this process a worker: an engine that handles calls one after another until its parent is gone. */
export function serveEngine(runTask?: TaskRunner): void {
  let worker: WorkerEngine | undefined;
  let isLonely = false;

  async function open(settings: EngineWorkerSettings): Promise<EngineInfo> {
    const opened = await openWorkerEngine(settings);
    await opened.warmUp();
    worker = opened;
    // A program with tasks of its own may be over before that pays.
    if (runTask === undefined) setImmediate(opened.compileRest);
    return opened.engine.info;
  }

  async function answer(request: ToWorker): Promise<unknown> {
    if (request.kind === 'open') return open(request.settings);
    if (worker === undefined) throw new Error('no engine is open');
    // The reply to such a call leaves at once, with those before it: the pool then knows what a lost worker was at.
    const wasLonely = isLonely;
    isLonely = request.kind === 'task' || (request.options.mode ?? worker.engine.info.mode) !== 'rules';
    if (wasLonely || isLonely) peer.flush();
    if (request.kind === 'score') return score(worker, request);
    if (runTask === undefined) throw new Error('this worker does not run tasks');
    return runTask(request.task, worker.engine);
  }

  const peer = serveWorker(answer, { inOrder: true, isExpected: (error) => error instanceof PortcullisError });
}

function score(worker: WorkerEngine, { text, isJson, isToolCall, withoutModel, ...call }: ScoreCall): Promise<Verdict> {
  const { change, ...options } = call.options;
  const engines = worker.enginesFor(change);
  const engine = withoutModel ? engines.withoutModel : engines.engine;
  return engine.analyze(isJson ? new JsonText(text, isToolCall === true) : text, options);
}

/** An engine, and a second one that answers as if the model had just failed. */
export interface EnginePair {
  readonly engine: Engine;
  /** The same rules, thresholds and versions; each call that would ask the model ends as `ml-error-rules-fallback`. */
  readonly withoutModel: Engine;
}

export interface WorkerEngine extends EnginePair {
  /** Loads the model and compiles the common patterns; `share`: of the time, as `WarmUpOptions` has it. */
  readonly warmUp: (share?: number) => Promise<void>;
  /** Compiles the patterns that the warm-up left out, between calls: they hardly wait for it. */
  readonly compileRest: () => void;
  /** Those with an overlay's change on top; its thresholds come before the settings'. The latest changes are remembered. */
  enginesFor(change: PackChange | undefined): EnginePair;
}

/**
 * Share of the time that goes to warming up while calls come. At 1 the first 60 calls took twice as long on two busy cores; at
 * this share all patterns are compiled some seconds later.
 */
export const SHARE_BETWEEN_CALLS = 0.1;

/** Changes that a worker remembers; one takes a few milliseconds to make. */
const REMEMBERED_CHANGES = 64;

/**
 * Opens an engine whose model runs in this very process.
 *
 * @throws ConfigError, PackError; ModelError where the mode asks for a model that is missing or unusable
 */
export async function openWorkerEngine(settings: EngineWorkerSettings): Promise<WorkerEngine> {
  const pack = loadPack({
    packs: settings.packs,
    overlays: settings.overlays,
    ...(settings.today === undefined ? {} : { today: settings.today }),
  });
  const { model, modeReason } = await openModel(settings);
  const { mode, thresholds, timeoutMs, limits } = settings;
  const failed = model && failing(model);
  const make = (given: CompiledPack, wanted: typeof thresholds): EnginePair => {
    const parts = { pack: given, modeReason, mode, thresholds: wanted, timeoutMs, limits };
    return { engine: createEngine({ ...parts, model }), withoutModel: createEngine({ ...parts, model: failed }) };
  };
  const own = make(pack, thresholds);
  const { engine } = own;
  const changed = new LRUCache<string, EnginePair>({ max: REMEMBERED_CHANGES });
  const enginesFor = (change: PackChange | undefined): EnginePair => {
    if (change === undefined) return own;
    // A replay puts recorded thresholds in the place of those of today.
    const key = `${change.rulesVersion} ${change.threshold} ${JSON.stringify(change.modelThreshold)}`;
    const known = changed.get(key);
    if (known !== undefined) return known;
    const pair = make(pack.withChange(change), {
      rules: change.threshold ?? thresholds?.rules,
      model: overlayThresholds(change.modelThreshold, thresholds?.model),
    });
    changed.set(key, pair);
    return pair;
  };
  const warmUp = async (share = 1): Promise<void> => {
    try {
      await engine.warmUp({ patterns: 'common', share });
    } catch (error) {
      // The worker still answers, by the rules, and each answer says so.
      if (!(error instanceof ModelError)) throw error;
    }
  };
  // By the engine without its model, which the warm-up has loaded or has failed to.
  const compileRest = (): void => {
    const rules = createEngine({ pack, modeReason, mode: 'rules', model: false, thresholds, timeoutMs, limits });
    void rules.warmUp({ share: SHARE_BETWEEN_CALLS });
  };
  return { ...own, enginesFor, warmUp, compileRest };
}

interface FoundModel {
  readonly model: Classifier | false;
  readonly modeReason?: string;
}

async function openModel(settings: EngineWorkerSettings): Promise<FoundModel> {
  if (settings.mode === 'rules' || settings.model === false) return { model: false };
  const folder = findModel(settings.model);
  if (folder === undefined) return { model: false, modeReason: 'no model is installed' };
  try {
    return { model: await loadModel(folder, { isolation: 'inline' }) };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const byDefault = settings.model === undefined && settings.mode === undefined;
    if (error.code === 'MODEL_RUNTIME_MISSING' && byDefault) return { model: false, modeReason: error.message };
    // A model that the caller named and that is missing is an error to fix; with a damaged one the rules carry on.
    if (settings.model !== undefined && error.code === 'MODEL_MISSING') throw error;
    return { model: unavailableModel(error, await readThresholds(folder)), modeReason: error.message };
  }
}

function failing(model: Classifier): Classifier {
  const lost = (): Promise<never> =>
    Promise.reject(new ModelError('MODEL_CRASHED', 'a worker was lost over this text'));
  return { info: model.info, classify: lost, warmUp: lost, close: () => Promise.resolve() };
}
