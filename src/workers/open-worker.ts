import { childProgram, startWorker, type Worker } from '../adapters/worker.js';
import type { EngineInfo } from '../engine/engine-settings.js';
import { type EngineWorkerSettings, ScoringError, type ToWorker } from './calls.js';

export interface OpenWorkerOptions {
  /** The worker's program. */
  readonly file: string;
  readonly loadTimeoutMs: number;
  readonly heapMb: number;
  /** True: a thread of this process. */
  readonly isThread: boolean;
  /** Called once, however the worker ended; not when it never came up. */
  readonly onEnd: (isForeignKill: boolean) => void;
}

/** A process or thread with an engine that is ready. */
export interface OpenWorker extends Worker {
  readonly info: EngineInfo;
}

/** With V8's own bound an idle thread keeps 8 to 20 MB of garbage; the rate of a batch is the same. */
const YOUNG_MB = 12;

/**
 * Starts a worker and opens its engine.
 *
 * @throws ScoringError `SCORER_REFUSED` where the settings make no engine, `SCORER_UNAVAILABLE` where it didn't come up
 */
export async function openWorker(
  settings: EngineWorkerSettings,
  { file, heapMb, isThread, loadTimeoutMs, onEnd }: OpenWorkerOptions,
): Promise<OpenWorker> {
  let isUp = false;
  const worker = startWorker({
    file,
    heapMb,
    isThread,
    canTerminate: true,
    youngMb: YOUNG_MB,
    onEnd: (isForeignKill) => isUp && onEnd(isForeignKill),
  });
  try {
    const info = await worker.ask<EngineInfo>({ kind: 'open', settings } satisfies ToWorker, loadTimeoutMs);
    isUp = true;
    return { ...worker, info };
  } catch (error) {
    worker.kill();
    const { code, message } = error as Error & { readonly code: string };
    if (code === 'WORKER_ENDED')
      throw new ScoringError('SCORER_UNAVAILABLE', 'an engine worker ended while it started');
    if (code === 'WORKER_LATE') throw new ScoringError('SCORER_UNAVAILABLE', 'an engine worker took too long to start');
    throw new ScoringError('SCORER_REFUSED', message);
  }
}

/**
 * The path of a worker's program.
 *
 * @throws ScoringError `SCORER_UNAVAILABLE` where it isn't built
 */
export function workerProgram(name: 'engine-worker' | 'batch-child'): string {
  const file = childProgram(name);
  if (file === undefined) throw new ScoringError('SCORER_UNAVAILABLE', "the worker's program isn't there; build first");
  return file;
}
