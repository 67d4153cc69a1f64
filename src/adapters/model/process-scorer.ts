import { ModelError, type ModelErrorCode } from '../../engine/errors.js';
import { createLimit, type Limit } from '../../engine/limit.js';
import type { Clock, WindowInput, WindowScore, WindowScorer } from '../../engine/ports.js';
import type { Failure } from '../peer.js';
import { systemClock } from '../system-clock.js';
import { type Backoff, childProgram, createBackoff, startWorker, type Worker } from '../worker.js';
import type { NetworkSpec, ToChild } from './onnx-network.js';

/** Bounds of scoring in child processes or threads. Times in milliseconds. */
export interface ProcessScorerOptions {
  /** True: in threads of this process; see `LoadModelOptions.isolation`. Default false. */
  readonly threads?: boolean | undefined;
  /** Child processes; each scores one window at a time on one thread. Default 1. */
  readonly processes?: number | undefined;
  /** A child that takes longer over one window is killed. Default 10,000. */
  readonly runTimeoutMs?: number | undefined;
  /** Default 60,000. */
  readonly loadTimeoutMs?: number | undefined;
  /** A child above it after a run is replaced. Megabytes, default 1,024. */
  readonly memoryLimitMb?: number | undefined;
  /** Rest before the restart after a crash; doubles up to 30 s. Default 200. */
  readonly restartMs?: number | undefined;
  /** The child's program; default the one of this package. */
  readonly childFile?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** A scorer in child processes; `pids` are those that run now. */
export interface ProcessScorer extends WindowScorer {
  pids(): readonly number[];
}

interface Slot {
  child: Promise<Worker> | undefined;
  ready: Worker | undefined;
  readonly backoff: Backoff;
  notBefore: number;
}

const MAX_RESTART_MS = 30_000;
const HEAP_MB = 256;

/**
 * Scores windows in forked processes: a run blocks its thread, and a thread that is stopped during one
 * takes the whole process with it; a process can be killed. Children start with the first window. With `threads` replies are
 * back sooner, but a crash of the runtime ends this process, and a run that hangs goes on.
 */
// Long: starting, running and retiring a child share its slot.
export function createProcessScorer(spec: NetworkSpec, options: ProcessScorerOptions = {}): ProcessScorer {
  const clock = options.clock ?? systemClock;
  const slots = Array.from(
    { length: Math.max(1, options.processes ?? 1) },
    (): Slot => ({
      child: undefined,
      ready: undefined,
      backoff: createBackoff(options.restartMs ?? 200, MAX_RESTART_MS, false),
      notBefore: 0,
    }),
  );
  const limit = createModelLimit(slots, clock);
  let closed = false;

  async function openChild(): Promise<Worker> {
    const file = options.childFile ?? childFile();
    const child = startWorker({ file, isThread: options.threads, heapMb: HEAP_MB, toError });
    try {
      await child.ask({ kind: 'load', spec } satisfies ToChild, options.loadTimeoutMs ?? 60_000);
      return child;
    } catch (error) {
      child.kill();
      throw error;
    }
  }

  async function startChild(slot: Slot): Promise<Worker> {
    if (closed) throw new ModelError('MODEL_CLOSED', 'the model was closed');
    if (slot.ready !== undefined && !slot.ready.isAlive()) slot.child = undefined;
    if (slot.child === undefined) {
      if (clock.now() < slot.notBefore)
        throw new ModelError('MODEL_RESTARTING', 'the scoring process crashed just now');
      slot.ready = undefined;
      slot.child = openChild();
    }
    slot.ready = await slot.child;
    return slot.ready;
  }

  async function runIn(slot: Slot, window: WindowInput | undefined): Promise<WindowScore | undefined> {
    try {
      const child = await startChild(slot);
      const asked =
        window && child.ask<WindowScore>({ kind: 'run', window } satisfies ToChild, options.runTimeoutMs ?? 10_000);
      const score = await asked;
      slot.backoff.reset();
      if (child.memoryBytes() > (options.memoryLimitMb ?? 1_024) * 2 ** 20) retire(slot);
      return score;
    } catch (error) {
      // A child that is alive answered that the network failed on this window.
      if (slot.child !== undefined && !slot.ready?.isAlive()) {
        retire(slot);
        slot.notBefore = clock.now() + slot.backoff.next();
      }
      throw error;
    }
  }

  return {
    parallel: slots.length,
    pids: () => slots.flatMap(({ ready }) => (ready?.isAlive() && ready.pid !== undefined ? [ready.pid] : [])),
    async score(window, { timeoutMs }) {
      const score = await limit((slot) => runIn(slot, window), timeoutMs);
      return score as WindowScore;
    },
    async warmUp() {
      await Promise.all(slots.map((slot) => runIn(slot, undefined)));
    },
    async close() {
      closed = true;
      for (const slot of slots) retire(slot);
    },
  };
}

/** Lets windows through to these places; rejects with `MODEL_TIMEOUT` after a window's time. */
export function createModelLimit<Place>(places: readonly Place[], clock: Clock): Limit<Place> {
  const error = (): Error => new ModelError('MODEL_TIMEOUT', 'the deadline passed before the window was scored');
  return createLimit(places, { clock, error });
}

function retire(slot: Slot): void {
  slot.child?.then(
    (child) => child.kill(),
    // It never came up: nothing is left to end.
    () => undefined,
  );
  slot.child = undefined;
  slot.ready = undefined;
}

function childFile(): string {
  const found = childProgram('model-worker');
  if (found === undefined) throw new ModelError('MODEL_LOAD', "the scoring process's program isn't there; build first");
  return found;
}

function toError({ code, message }: Failure): ModelError {
  if (code === 'WORKER_ENDED') return new ModelError('MODEL_CRASHED', 'the scoring process ended');
  if (code === 'WORKER_LATE') return new ModelError('MODEL_HUNG', 'the scoring process did not respond and was killed');
  return new ModelError(code as ModelErrorCode, message);
}
