import { type Child, childProgram, forkChild } from '../adapters/supervisor.js';
import type { EngineInfo } from '../index.js';
import {
  type EngineWorkerSettings,
  type FromWorker,
  ScoringError,
  type ToWorker,
  type WorkerCall,
  type WorkerReply,
} from './calls.js';

/** How an engine worker is started. */
export interface WorkerProcessOptions {
  /** The program to fork. */
  readonly file: string;
  readonly loadTimeoutMs: number;
  /** Bound of the heap, megabytes: a text that needs more ends the worker and not the machine. */
  readonly heapMb: number;
  readonly onAnswers: (answers: readonly WorkerReply[], rssBytes: number) => void;
  /** Called once, however the process ended; not when it never came up. */
  readonly onEnd: (killedFromOutside: boolean) => void;
}

/** A process with an engine that is ready. */
export interface WorkerProcess extends Omit<Child<never>, 'send'> {
  readonly info: EngineInfo;
  send(calls: readonly WorkerCall[]): void;
}

/**
 * Forks a worker and opens its engine.
 *
 * @throws ScoringError `SCORER_REFUSED` where the settings make no engine, `SCORER_UNAVAILABLE` where it didn't come up
 */
export function startWorkerProcess(
  settings: EngineWorkerSettings,
  { file, heapMb, loadTimeoutMs, onAnswers, onEnd }: WorkerProcessOptions,
): Promise<WorkerProcess> {
  return new Promise((resolve, reject) => {
    let isUp = false;
    const fail = (code: 'SCORER_REFUSED' | 'SCORER_UNAVAILABLE', message: string): void => {
      clearTimeout(timer);
      child.kill();
      reject(new ScoringError(code, message));
    };
    const child = forkChild<ToWorker, FromWorker>({
      file,
      heapMb,
      onEnd(isForeignKill) {
        if (isUp) onEnd(isForeignKill);
        else fail('SCORER_UNAVAILABLE', 'an engine worker ended while it started');
      },
      onMessage(message) {
        if (message.kind === 'answers') onAnswers(message.answers, message.rssBytes);
        else if (message.kind === 'refused') fail('SCORER_REFUSED', message.message);
        else {
          isUp = true;
          clearTimeout(timer);
          const { info } = message;
          resolve({ ...child, info, send: (calls) => child.send({ kind: 'score', calls }) });
        }
      },
    });
    const timer = setTimeout(
      () => fail('SCORER_UNAVAILABLE', 'an engine worker took too long to start'),
      loadTimeoutMs,
    );
    child.hold(true);
    child.send({ kind: 'open', settings });
  });
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
