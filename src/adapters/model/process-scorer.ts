import { ModelError } from '../../engine/errors.js';
import type { Clock, WindowScore, WindowScorer } from '../../engine/ports.js';
import { childProgram } from '../child-program.js';
import { systemClock } from '../system-clock.js';
import type { NetworkSpec } from './onnx-network.js';
import { type ScoringChild, startScoringChild } from './scoring-child.js';
import { createTurnstile } from './turnstile.js';

/** Bounds of scoring in child processes. Times in milliseconds. */
export interface ProcessScorerOptions {
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
  failures: number;
  notBefore: number;
}

const MAX_RESTART_MS = 30_000;

/**
 * Scores windows in forked processes: a run blocks its thread, and a thread that is stopped during one
 * takes the whole process with it; a process can be killed. Children start with the first window.
 */
export function createProcessScorer(spec: NetworkSpec, options: ProcessScorerOptions = {}): ProcessScorer {
  const clock = options.clock ?? systemClock;
  const slots = Array.from({ length: Math.max(1, options.processes ?? 1) }, newSlot);
  const turnstile = createTurnstile(slots, clock);
  let closed = false;

  async function childOf(slot: Slot): Promise<ScoringChild> {
    if (closed) throw new ModelError('MODEL_CLOSED', 'the model was closed');
    if (slot.ready !== undefined && !slot.ready.alive()) slot.child = undefined;
    if (slot.child === undefined) {
      if (clock.now() < slot.notBefore)
        throw new ModelError('MODEL_RESTARTING', 'the scoring process crashed just now');
      slot.ready = undefined;
      slot.child = startScoringChild(spec, {
        file: options.childFile ?? childFile(),
        loadTimeoutMs: options.loadTimeoutMs ?? 60_000,
        runTimeoutMs: options.runTimeoutMs ?? 10_000,
      });
    }
    slot.ready = await slot.child;
    return slot.ready;
  }

  async function runIn(slot: Slot, ids: readonly number[] | undefined): Promise<WindowScore | undefined> {
    try {
      const child = await childOf(slot);
      const score = ids && (await child.run(ids));
      slot.failures = 0;
      if (child.rssBytes() > (options.memoryLimitMb ?? 1_024) * 2 ** 20) retire(slot);
      return score;
    } catch (error) {
      // A child that is alive answered that the network failed on this window.
      if (slot.child !== undefined && !slot.ready?.alive()) {
        retire(slot);
        slot.failures += 1;
        slot.notBefore = clock.now() + Math.min((options.restartMs ?? 200) * 2 ** (slot.failures - 1), MAX_RESTART_MS);
      }
      throw error;
    }
  }

  return {
    pids: () => slots.flatMap(({ ready }) => (ready?.alive() && ready.pid !== undefined ? [ready.pid] : [])),
    async score(ids, { timeoutMs }) {
      const score = await turnstile((slot) => runIn(slot, ids), timeoutMs);
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

function newSlot(): Slot {
  return { child: undefined, ready: undefined, failures: 0, notBefore: 0 };
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
  const found = childProgram('onnx-child');
  if (found === undefined) throw new ModelError('MODEL_LOAD', "the scoring process's program isn't there; build first");
  return found;
}
