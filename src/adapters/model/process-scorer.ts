import { ModelError } from '../../engine/errors.js';
import type { Clock, WindowInput, WindowScore, WindowScorer } from '../../engine/ports.js';
import { type Backoff, type Child, childProgram, createBackoff, forkChild } from '../supervisor.js';
import { systemClock } from '../system-clock.js';
import { startThread } from '../thread.js';
import type { FromChild, NetworkSpec, ToChild } from './onnx-network.js';
import { createSemaphore } from './semaphore.js';

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
  child: Promise<ScoringChild> | undefined;
  ready: ScoringChild | undefined;
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
  const semaphore = createSemaphore(slots, clock);
  let closed = false;

  async function startChild(slot: Slot): Promise<ScoringChild> {
    if (closed) throw new ModelError('MODEL_CLOSED', 'the model was closed');
    if (slot.ready !== undefined && !slot.ready.isAlive()) slot.child = undefined;
    if (slot.child === undefined) {
      if (clock.now() < slot.notBefore)
        throw new ModelError('MODEL_RESTARTING', 'the scoring process crashed just now');
      slot.ready = undefined;
      slot.child = startScoringChild(spec, {
        file: options.childFile ?? childFile(),
        loadTimeoutMs: options.loadTimeoutMs ?? 60_000,
        runTimeoutMs: options.runTimeoutMs ?? 10_000,
        threads: options.threads === true,
      });
    }
    slot.ready = await slot.child;
    return slot.ready;
  }

  async function runIn(slot: Slot, window: WindowInput | undefined): Promise<WindowScore | undefined> {
    try {
      const child = await startChild(slot);
      const score = window && (await child.run(window));
      slot.backoff.reset();
      if (child.rssBytes() > (options.memoryLimitMb ?? 1_024) * 2 ** 20) retire(slot);
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
      const score = await semaphore((slot) => runIn(slot, window), timeoutMs);
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

/** How a scoring child is started and watched. */
export interface ChildOptions {
  /** The program to fork. */
  readonly file: string;
  /** Milliseconds that loading may take. */
  readonly loadTimeoutMs: number;
  /** Milliseconds that one window may take; then the child is killed. */
  readonly runTimeoutMs: number;
  readonly threads: boolean;
}

/** A child process with a loaded network. One run at a time. */
export interface ScoringChild extends Pick<Child<never>, 'pid' | 'isAlive' | 'kill'> {
  /** Rejects with `MODEL_CRASHED` or `MODEL_HUNG` when the child is gone afterwards. */
  run(window: WindowInput): Promise<WindowScore>;
  /** Resident memory after the last run. */
  rssBytes(): number;
}

/**
 * Forks a child and loads the network in it. An idle child doesn't keep this process alive, and it ends
 * when this process does.
 *
 * @throws ModelError as `openNetwork` does, `MODEL_CRASHED`, `MODEL_HUNG`
 */
async function startScoringChild(spec: NetworkSpec, options: ChildOptions): Promise<ScoringChild> {
  let rss = 0;
  let settle: ((outcome: FromChild | ModelError) => void) | undefined;
  const start = options.threads ? startThread<ToChild, FromChild> : forkChild<ToChild, FromChild>;
  const child = start({
    file: options.file,
    heapMb: HEAP_MB,
    onMessage: (reply) => settle?.(reply),
    onEnd: () => settle?.(new ModelError('MODEL_CRASHED', 'the scoring process ended')),
  });
  /** Sends a message and waits for the one reply, for the child's end, or for the time to pass. */
  const ask = (message: ToChild, timeoutMs: number): Promise<FromChild> =>
    new Promise((resolve, reject) => {
      child.hold(true);
      const timer = setTimeout(() => {
        child.kill();
        settle?.(new ModelError('MODEL_HUNG', 'the scoring process did not respond and was killed'));
      }, timeoutMs);
      settle = (outcome) => {
        settle = undefined;
        clearTimeout(timer);
        child.hold(false);
        if (outcome instanceof ModelError) reject(outcome);
        else resolve(outcome);
      };
      if (child.isAlive()) child.send(message);
      else settle(new ModelError('MODEL_CRASHED', 'the scoring process ended'));
    });
  try {
    const reply = await ask({ kind: 'load', spec }, options.loadTimeoutMs);
    if (reply.kind !== 'ready') throw unexpected(reply);
  } catch (error) {
    child.kill();
    throw error;
  }
  return {
    pid: child.pid,
    isAlive: child.isAlive,
    rssBytes: () => rss,
    kill: child.kill,
    async run(window) {
      const reply = await ask({ kind: 'run', window }, options.runTimeoutMs);
      if (reply.kind !== 'score') throw unexpected(reply);
      // That of a thread is this process's.
      rss = options.threads ? 0 : reply.rssBytes;
      return reply.score;
    },
  };
}

function unexpected(reply: FromChild): ModelError {
  if (reply.kind === 'failed') return new ModelError(reply.code, reply.message);
  return new ModelError('MODEL_FAILED', 'the scoring process responded out of turn');
}
