import { systemClock } from '../adapters/system-clock.js';
import { type Clock, type EngineInfo, type ExplainedVerdict, type Input, toJsonText, type Verdict } from '../index.js';
import {
  type EngineWorkerSettings,
  OverloadedError,
  type ScoreOptions,
  ScoringError,
  type WorkerCall,
} from './calls.js';
import { createFairQueue } from './fair-queue.js';
import { workerProgram } from './worker-process.js';
import { createWorkerSlot, type PendingCall, type WorkerSlot } from './worker-slot.js';

/** Bounds of a pool; times in milliseconds. */
export interface EnginePoolOptions extends EngineWorkerSettings {
  /** Worker processes; default 1. An engine takes about 230 MB, with the model about 340 MB. */
  readonly workers?: number | undefined;
  /** The name of `workers` in 1.0. */
  readonly scorers?: number | undefined;
  /** A worker that takes longer over one call is killed. Default 30,000. */
  readonly deadlineMs?: number | undefined;
  /** How long a call may wait for a worker unless it says so itself; then it is refused. Default: no bound. */
  readonly waitMs?: number | undefined;
  /** Calls that may wait for a worker; one more is refused. Default 1,000. */
  readonly queueLimit?: number | undefined;
  /** Calls in one worker at once. Default 2 with a model, 32 without. */
  readonly depth?: number | undefined;
  readonly loadTimeoutMs?: number | undefined;
  readonly heapMb?: number | undefined;
  readonly memoryLimitMb?: number | undefined;
  /** Rest before the second restart in a row; doubles up to 30 s. Default 200. */
  readonly restartMs?: number | undefined;
  /** The worker's program; default the one of this package. */
  readonly childFile?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** Counts since the pool was opened, and its state now. */
export interface EnginePoolStats {
  readonly scored: number;
  /** Processes that ended on their own, were killed from outside, hung, or ran out of memory. */
  readonly lost: number;
  readonly waiting: number;
  readonly underWay: number;
  /** Process ids of the workers that are ready. */
  readonly pids: readonly number[];
}

/** Engines in processes of their own: an answer blocks nothing here, and a worker that is lost loses no call. */
export interface EnginePool {
  /**
   * Scores one input. When a worker is lost over it, a mode with a model is answered by another worker's rules as
   * `ml-error-rules-fallback`, and mode `rules` is tried again.
   *
   * @throws OverloadedError; ScoringError; InputError where the input has no JSON text
   */
  score(input: Input, options: ScoreOptions & { readonly explain: true }): Promise<ExplainedVerdict>;
  score(input: Input, options?: ScoreOptions): Promise<Verdict>;
  /**
   * Hands a task to a worker whose program (`childFile`) knows its kind. `size`: its rough cost, in characters of text.
   *
   * @throws ScoringError `SCORER_LOST` when a worker is lost over it: it isn't tried again
   */
  run(task: unknown, size: number): Promise<unknown>;
  readonly info: EngineInfo;
  stats(): EnginePoolStats;
  /** Takes no more calls, waits for those in flight, and ends the workers. */
  close(): Promise<void>;
}

type CallBounds = Pick<ScoreOptions, 'deadlineMs' | 'waitMs'>;

/** UTF-16 code units. Longer texts of tenants leave one worker of several to shorter ones. */
const LONG_TEXT = 64 * 1024;

/** Starts in a row that may fail on every worker before waiting calls are given up. */
const MAX_FAILURES = 5;

/** Starts the workers. @throws ScoringError `SCORER_REFUSED`, `SCORER_UNAVAILABLE` */
export async function openEnginePool(options: EnginePoolOptions = {}): Promise<EnginePool> {
  const clock = options.clock ?? systemClock;
  const today = options.today ?? new Date().toISOString().slice(0, 10);
  let info: EngineInfo | undefined;
  let closing = false;
  let scored = 0;
  let lost = 0;
  let idle = (): void => {};
  const waiting = createFairQueue<PendingCall>({
    tenantOf: ({ tenant }) => tenant ?? '',
    // A call costs something even without a text.
    costOf: (pending) => pending.size + 64,
    isLong,
  });
  /** Calls whose worker was lost: before all others. */
  let retries: PendingCall[] = [];
  const { packs, overlays, model, mode, thresholds, timeoutMs, limits } = options;
  const slotOptions = {
    settings: { packs, overlays, today, model, mode, thresholds, timeoutMs, limits },
    file: options.childFile ?? workerProgram('engine-worker'),
    loadTimeoutMs: options.loadTimeoutMs ?? 60_000,
    heapMb: options.heapMb ?? 1_024,
    memoryLimitMb: options.memoryLimitMb ?? 1_024,
    restartMs: options.restartMs ?? 200,
    characters: 256 * 1024,
    clock,
    fits: (scorer: { readonly info: EngineInfo }) =>
      info === undefined || scorer.info.rules_version === info.rules_version,
    onFree: dispatch,
    onLoss(toRetry: readonly PendingCall[]) {
      lost += 1;
      for (const pending of toRetry) pending.wait();
      retries = [...toRetry, ...retries];
      dispatch();
    },
  };
  // The first worker says whether there is a model, and so how deep each one may be filled.
  let depth = options.depth ?? 2;
  const slots = Array.from({ length: Math.max(1, options.workers ?? options.scorers ?? 1) }, () =>
    createWorkerSlot({ ...slotOptions, depth: () => depth }),
  );

  function dispatch(): void {
    for (;;) {
      let free: WorkerSlot | undefined;
      const fits = (call: PendingCall): boolean => {
        free = leastLoaded(isLong(call) && slots.length > 1 ? slots.slice(1) : slots, call);
        return free !== undefined;
      };
      const [retry] = retries;
      const next = retry === undefined ? waiting.shift(fits) : fits(retry) ? retries.shift() : undefined;
      if (next === undefined) break;
      next.endWait();
      free?.take(next);
    }
    if (isWaiting() && slots.every((slot) => slot.failedStarts() > MAX_FAILURES)) {
      const lost = [...retries, ...waiting.drain()];
      retries = [];
      for (const { reject } of lost)
        reject(new ScoringError('SCORER_UNAVAILABLE', 'no engine worker could be started'));
    }
    if (!isWaiting() && slots.every((slot) => slot.held() === 0)) idle();
  }

  function isWaiting(): boolean {
    return retries.length + waiting.size() > 0;
  }

  function enqueue(
    call: WorkerCall,
    { size, usesModel, tenant, deadlineMs, waitMs }: Pick<PendingCall, 'size' | 'usesModel' | 'tenant'> & CallBounds,
  ): Promise<unknown> {
    if (closing) return Promise.reject(new ScoringError('SCORER_CLOSED', 'the workers were closed'));
    if (retries.length + waiting.size() >= (options.queueLimit ?? 1_000))
      return Promise.reject(new OverloadedError('the queue in front of the engine workers is full'));
    return new Promise((resolve, reject) => {
      const queueTimeoutMs = waitMs ?? options.waitMs;
      let endWait = (): void => {};
      const giveUp = (): void => {
        // A call that is tried again is a copy.
        const isThis = ({ wait }: PendingCall): boolean => wait === pending.wait;
        retries = retries.filter((one) => !isThis(one));
        waiting.remove(isThis);
        pending.reject(new OverloadedError('the call waited too long for an engine worker'));
      };
      const pending: PendingCall = {
        call,
        usesModel,
        tenant,
        deadlineMs: deadlineMs ?? options.deadlineMs ?? 30_000,
        size,
        strikes: 0,
        alone: false,
        wait() {
          if (queueTimeoutMs !== undefined) endWait = clock.after(queueTimeoutMs, giveUp);
        },
        endWait: () => endWait(),
        resolve(answer) {
          scored += 1;
          resolve(answer);
        },
        reject(error) {
          endWait();
          reject(error);
        },
      };
      pending.wait();
      waiting.push(pending);
      dispatch();
    });
  }

  async function score(input: Input, { deadlineMs, waitMs, ...rest }: ScoreOptions = {}): Promise<Verdict> {
    const { text, ...json } = typeof input === 'string' ? { text: input } : toJsonText(input);
    const usesModel = (rest.mode ?? info?.mode) !== 'rules';
    const isJson = typeof input !== 'string';
    const call: WorkerCall = { kind: 'score', text, isJson, ...json, options: rest, withoutModel: false };
    return (await enqueue(call, { size: text.length, usesModel, tenant: rest.tenant, deadlineMs, waitMs })) as Verdict;
  }

  try {
    const first = (await Promise.all(slots.map((slot) => slot.start())))[0];
    info = first?.info as EngineInfo;
    depth = options.depth ?? (info.mode === 'rules' ? 32 : 2);
  } catch (error) {
    for (const slot of slots) slot.stop();
    throw error;
  }
  return {
    score: score as EnginePool['score'],
    run: (task, size) => enqueue({ kind: 'task', task }, { size, usesModel: false, tenant: undefined }),
    info,
    stats: () => ({
      scored,
      lost,
      waiting: retries.length + waiting.size(),
      underWay: slots.reduce((sum, slot) => sum + slot.held(), 0),
      pids: slots.flatMap((slot) => slot.pid() ?? []),
    }),
    async close() {
      if (closing) return;
      closing = true;
      await new Promise<void>((resolve) => {
        idle = resolve;
        dispatch();
      });
      for (const slot of slots) slot.stop();
    },
  };
}

function isLong({ tenant, size }: PendingCall): boolean {
  return tenant !== undefined && size > LONG_TEXT;
}

function leastLoaded(slots: readonly WorkerSlot[], call: PendingCall): WorkerSlot | undefined {
  let best: WorkerSlot | undefined;
  for (const slot of slots) if (slot.room(call) > 0 && (best === undefined || slot.load() < best.load())) best = slot;
  return best;
}

/** The names of 1.0. */
export {
  /** @alias */
  openEnginePool as openScorerPool,
};
export type ScorerPool = EnginePool;
export type ScorerPoolOptions = EnginePoolOptions;
export type ScorerPoolStats = EnginePoolStats;
