import { openStore } from '../store/open-store.js';
import type { EngineWorkerSettings } from '../workers/calls.js';
import { openEnginePool } from '../workers/engine-pool.js';
import { withShortTextsInline } from '../workers/short-texts.js';
import type { ProcessShare, RunningService } from './run-service.js';
import { createLongWork } from './screening/fair-limit.js';
import type { ServiceSettings } from './settings.js';

/**
 * Starts the service in this process, or (`share`) its part of one. The engine workers start first, then the store's thread:
 * both get ready while this process reads the rest of its code.
 *
 * @throws StoreError, ScoringError
 */
export async function serve(settings: ServiceSettings, share?: ProcessShare): Promise<RunningService> {
  const ofAll = (bound: number): number => Math.ceil(bound / (share?.processes ?? 1));
  const { data, databaseUrl, mode, pack, overlay, model } = settings;
  const today = new Date().toISOString().slice(0, 10);
  const engineSettings: EngineWorkerSettings = {
    packs: pack,
    overlays: overlay,
    today,
    model: model === 'off' ? false : model,
    mode,
    thresholds: settings.operatingPoint === undefined ? undefined : { model: settings.operatingPoint },
  };
  const pool = openEnginePool({
    ...engineSettings,
    workers: ofAll(settings.workers),
    deadlineMs: settings.deadline,
    // Where no worker comes up a caller hears of it, and not its own timeout.
    waitMs: settings.deadline,
    queueLimit: ofAll(settings.callsAtOnce),
  });
  const longWork = createLongWork();
  const store = openStore({
    data,
    databaseUrl,
    plansFile: settings.plans,
    pepper: settings.keyPepper,
    serves: true,
    isHeld: share !== undefined,
    longWork,
  });
  const engine = withShortTextsInline(pool, engineSettings);
  // They may be refused before anybody waits for them.
  for (const opening of [store, engine]) opening.catch(() => undefined);
  const { runService } = await import('./run-service.js').catch(async (error: unknown) => {
    for (const opening of [engine, store]) await opening.then((opened) => opened.close()).catch(() => undefined);
    throw error;
  });
  return runService(settings, { store, engine, longWork, today, share, ofAll });
}
