import { childProgram, startWorker, type Worker } from '../adapters/worker.js';
import type { EngineInfo } from '../engine/engine-settings.js';
import { type EngineWorkerSettings, ScoringError, type ToWorker } from './calls.js';

export interface WorkerProcessOptions {
  /** The program to fork. */
  readonly file: string;
  readonly loadTimeoutMs: number;
  readonly heapMb: number;
  /** Called once, however the process ended; not when it never came up. */
  readonly onEnd: (isForeignKill: boolean) => void;
}

/** A process with an engine that is ready. */
export interface WorkerProcess extends Worker {
  readonly info: EngineInfo;
}

/**
 * Forks a worker and opens its engine.
 *
 * @throws ScoringError `SCORER_REFUSED` where the settings make no engine, `SCORER_UNAVAILABLE` where it didn't come up
 */
export async function startWorkerProcess(
  settings: EngineWorkerSettings,
  { file, heapMb, loadTimeoutMs, onEnd }: WorkerProcessOptions,
): Promise<WorkerProcess> {
  let isUp = false;
  const worker = startWorker({ file, heapMb, onEnd: (isForeignKill) => isUp && onEnd(isForeignKill) });
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
