import { type ChildProcess, fork } from 'node:child_process';
import { childProgram } from '../adapters/child-program.js';
import type { EngineInfo } from '../index.js';
import {
  type EngineWorkerSettings,
  type FromWorker,
  ScoringError,
  type ToWorker,
  type WorkerCall,
  type WorkerReply,
} from './calls.js';

/** How a scorer is started. */
export interface WorkerProcessOptions {
  /** The program to fork. */
  readonly file: string;
  readonly loadTimeoutMs: number;
  /** Bound of the heap, megabytes: a text that needs more ends the scorer and not the machine. */
  readonly heapMb: number;
  readonly onAnswers: (answers: readonly WorkerReply[], rssBytes: number) => void;
  /** Called once, however the process ended; not when it never came up. */
  readonly onEnd: (killedFromOutside: boolean) => void;
}

/** A process with an engine that is ready. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  readonly info: EngineInfo;
  send(calls: readonly WorkerCall[]): void;
  /** Ends it at once, whatever it does. */
  kill(): void;
  /** Keeps this program alive (or not) while it waits for the scorer. */
  hold(busy: boolean): void;
}

/** Nothing of the parent's environment that an engine doesn't need: it may hold secrets. */
const PASSED_ON = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMPDIR'];

/**
 * Forks a scorer and opens its engine.
 *
 * @throws ScoringError `SCORER_REFUSED` where the settings make no engine, `SCORER_UNAVAILABLE` where it didn't come up
 */
export function startWorkerProcess(
  settings: EngineWorkerSettings,
  options: WorkerProcessOptions,
): Promise<WorkerProcess> {
  const child = fork(options.file, [], {
    execArgv: [`--max-old-space-size=${options.heapMb}`],
    env: Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    // Bytes can be sent as they are; for texts and verdicts it costs the same as JSON.
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    let up = false;
    let ended = false;
    const fail = (code: 'SCORER_REFUSED' | 'SCORER_UNAVAILABLE', message: string): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new ScoringError(code, message));
    };
    const timer = setTimeout(
      () => fail('SCORER_UNAVAILABLE', 'a scorer took too long to start'),
      options.loadTimeoutMs,
    );
    const onEnd = (): void => {
      if (ended) return;
      ended = true;
      // `killed` is true when this process sent the signal.
      const killedFromOutside = child.signalCode === 'SIGKILL' && !child.killed;
      child.kill('SIGKILL');
      if (up) options.onEnd(killedFromOutside);
      else fail('SCORER_UNAVAILABLE', 'a scorer ended while it started');
    };
    child.on('exit', onEnd);
    child.on('error', onEnd);
    // A closed channel comes a moment before the exit that says why.
    child.on('disconnect', () => setTimeout(onEnd, 100).unref());
    child.on('message', (message: FromWorker) => {
      if (message.kind === 'answers') options.onAnswers(message.answers, message.rssBytes);
      else if (message.kind === 'refused') fail('SCORER_REFUSED', message.message);
      else {
        up = true;
        clearTimeout(timer);
        resolve(running(child, message.info, onEnd));
      }
    });
    tell(child, { kind: 'open', settings }, onEnd);
  });
}

function running(child: ChildProcess, info: EngineInfo, onEnd: () => void): WorkerProcess {
  return {
    pid: child.pid,
    info,
    send: (calls) => tell(child, { kind: 'score', calls }, onEnd),
    kill: () => void child.kill('SIGKILL'),
    hold(busy) {
      if (busy) {
        child.ref();
        child.channel?.ref();
      } else {
        child.unref();
        child.channel?.unref();
      }
    },
  };
}

function tell(child: ChildProcess, message: ToWorker, onEnd: () => void): void {
  // A message that can't be delivered means that the child is gone; never answer inside the caller's own turn.
  if (child.connected) child.send(message, (error) => error && setTimeout(onEnd, 100));
  else setTimeout(onEnd, 100);
}

/**
 * The path of a scorer's program.
 *
 * @throws ScoringError `SCORER_UNAVAILABLE` where it isn't built
 */
export function workerProgram(name: 'engine-worker' | 'batch-child'): string {
  const file = childProgram(name);
  if (file === undefined) throw new ScoringError('SCORER_UNAVAILABLE', "the scorer's program isn't there; build first");
  return file;
}
