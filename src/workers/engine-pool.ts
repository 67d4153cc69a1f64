import { shareCorePack } from '../adapters/packs/load-pack.js';
import { systemClock } from '../adapters/system-clock.js';
import type { EngineInfo } from '../engine/engine-settings.js';
import type { ExplainedVerdict } from '../engine/explain.js';
import { type Input, toJsonText } from '../engine/input.js';
import type { Clock } from '../engine/ports.js';
import type { Verdict } from '../engine/verdict.js';
import {
  type EngineWorkerSettings,
  OverloadedError,
  type ScoreOptions,
  ScoringError,
  type WorkerCall,
} from './calls.js';
import { FairQueue } from './fair-queue.js';
import { workerProgram } from './open-worker.js';
import { type PendingCall, type SlotOptions, WorkerSlot } from './worker-slot.js';

/** Bounds of a pool; times in milliseconds. */
export interface EnginePoolOptions extends EngineWorkerSettings {
  /**
   * Workers; default 1. In mode `rules` and with `model: false` they are threads of this process, which share the core pack
   * and take about 30 MB each. Others are processes of about 220 MB, since the model's runtime can't be stopped in a thread.
   */
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
  /** Workers that ended on their own, were killed from outside, hung, or ran out of memory. */
  readonly lost: number;
  readonly waiting: number;
  readonly underWay: number;
  /** How many workers there should be. */
  readonly workers: number;
  /** Workers that are ready. */
  readonly ready: number;
  /** Process ids of the workers that are ready; none where they are threads. */
  readonly pids: readonly number[];
}

/** Runs engines in worker threads or processes. Screening does not block the event loop, and calls survive the loss of a worker. */
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

/** UTF-16 code units. Longer texts of tenants leave one worker of several to shorter ones. */
const LONG_TEXT = 64 * 1024;

/** Starts in a row that may fail on every worker before waiting calls are given up. */
const MAX_FAILURES = 5;

/**
 * Starts the workers.
 *
 * @throws ScoringError `SCORER_REFUSED`, `SCORER_UNAVAILABLE`
 * @example
 * ```ts
 * const workers = await openEnginePool({ workers: 2, mode: 'rules' });
 * const { verdict } = await workers.score(text);
 * await workers.close();
 * ```
 */
export async function openEnginePool(options: EnginePoolOptions = {}): Promise<EnginePool> {
  const pool = new Pool(options);
  const info = await pool.start();
  return {
    score: ((input: Input, call?: ScoreOptions) => pool.score(input, call)) as EnginePool['score'],
    run: (task, size) => pool.enqueue({ kind: 'task', task }, { size, usesModel: false, tenant: undefined }),
    info,
    stats: () => pool.stats(),
    close: () => pool.close(),
  };
}

type CallTerms = Pick<PendingCall, 'size' | 'usesModel' | 'tenant'> & Pick<ScoreOptions, 'deadlineMs' | 'waitMs'>;

class Pool {
  readonly #options: EnginePoolOptions;
  readonly #clock: Clock;
  readonly #slots: readonly WorkerSlot[];
  readonly #waiting = new FairQueue<PendingCall>({
    tenantOf: ({ tenant }) => tenant ?? '',
    // A call costs something even without a text.
    costOf: ({ size }) => size + 64,
    isLong,
  });
  /** Calls whose worker was lost: before all others. */
  #retries: PendingCall[] = [];
  #info: EngineInfo | undefined;
  #depth: number;
  #isClosing = false;
  #scored = 0;
  #lost = 0;
  #idle = (): void => {};

  constructor(options: EnginePoolOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    // The first worker says whether there is a model, and so how deep each one may be filled.
    this.#depth = options.depth ?? 2;
    const workers = Math.max(1, options.workers ?? options.scorers ?? 1);
    const slotOptions = this.#slotOptions();
    this.#slots = Array.from({ length: workers }, () => new WorkerSlot(slotOptions));
  }

  #slotOptions(): SlotOptions {
    const { packs, overlays, model, mode, thresholds, timeoutMs, limits, ...options } = this.#options;
    // To stop a thread in the middle of the model's native code would end this process.
    const isThread = mode === 'rules' || model === false;
    if (isThread) shareCorePack();
    const today = options.today ?? new Date().toISOString().slice(0, 10);
    return {
      settings: { packs, overlays, today, model, mode, thresholds, timeoutMs, limits },
      file: options.childFile ?? workerProgram('engine-worker'),
      loadTimeoutMs: options.loadTimeoutMs ?? 60_000,
      heapMb: options.heapMb ?? 1_024,
      isThread,
      memoryLimitMb: options.memoryLimitMb ?? 1_024,
      restartMs: options.restartMs ?? 200,
      depth: () => this.#depth,
      characters: 256 * 1024,
      clock: this.#clock,
      fits: ({ info }) => this.#info === undefined || info.rules_version === this.#info.rules_version,
      onFree: () => this.#dispatch(),
      onLoss: (toRetry) => {
        this.#lost += 1;
        for (const pending of toRetry) pending.wait();
        this.#retries = [...toRetry, ...this.#retries];
        this.#dispatch();
      },
    };
  }

  async start(): Promise<EngineInfo> {
    try {
      const [first] = await Promise.all(this.#slots.map((slot) => slot.start()));
      this.#info = first?.info as EngineInfo;
      this.#depth = this.#options.depth ?? (this.#info.mode === 'rules' ? 32 : 2);
      return this.#info;
    } catch (error) {
      for (const slot of this.#slots) slot.stop();
      throw error;
    }
  }

  async score(input: Input, { deadlineMs, waitMs, ...rest }: ScoreOptions = {}): Promise<Verdict> {
    const { text, ...json } = typeof input === 'string' ? { text: input } : toJsonText(input);
    const usesModel = (rest.mode ?? this.#info?.mode) !== 'rules';
    const isJson = typeof input !== 'string';
    const call: WorkerCall = { kind: 'score', text, isJson, ...json, options: rest, withoutModel: false };
    const terms = { size: text.length, usesModel, tenant: rest.tenant, deadlineMs, waitMs };
    return (await this.enqueue(call, terms)) as Verdict;
  }

  enqueue(call: WorkerCall, { deadlineMs, waitMs, ...terms }: CallTerms): Promise<unknown> {
    if (this.#isClosing) return Promise.reject(new ScoringError('SCORER_CLOSED', 'the workers were closed'));
    if (this.#waits() >= (this.#options.queueLimit ?? 1_000))
      return Promise.reject(new OverloadedError('the queue in front of the engine workers is full'));
    return new Promise((resolve, reject) => {
      const mostMs = waitMs ?? this.#options.waitMs;
      let endWait = (): void => {};
      const pending: PendingCall = {
        call,
        ...terms,
        deadlineMs: deadlineMs ?? this.#options.deadlineMs ?? 30_000,
        strikes: 0,
        isAlone: false,
        wait: () => {
          if (mostMs !== undefined) endWait = this.#clock.after(mostMs, () => this.#giveUp(pending));
        },
        endWait: () => endWait(),
        resolve: (answer) => {
          this.#scored += 1;
          resolve(answer);
        },
        reject(error) {
          endWait();
          reject(error);
        },
      };
      pending.wait();
      this.#waiting.push(pending);
      this.#dispatch();
    });
  }

  stats(): EnginePoolStats {
    return {
      scored: this.#scored,
      lost: this.#lost,
      waiting: this.#waits(),
      underWay: this.#slots.reduce((sum, { held }) => sum + held, 0),
      workers: this.#slots.length,
      ready: this.#slots.filter(({ isReady }) => isReady).length,
      pids: this.#slots.flatMap(({ pid }) => pid ?? []),
    };
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
      this.#dispatch();
    });
    for (const slot of this.#slots) slot.stop();
  }

  #waits(): number {
    return this.#retries.length + this.#waiting.size;
  }

  #giveUp(pending: PendingCall): void {
    this.#retries = this.#retries.filter((one) => one !== pending);
    this.#waiting.remove(pending);
    pending.reject(new OverloadedError('the call waited too long for an engine worker'));
  }

  #dispatch(): void {
    for (;;) {
      let free: WorkerSlot | undefined;
      const fits = (call: PendingCall): boolean => {
        free = leastLoaded(isLong(call) && this.#slots.length > 1 ? this.#slots.slice(1) : this.#slots, call);
        return free !== undefined;
      };
      const [retry] = this.#retries;
      const next = retry === undefined ? this.#waiting.shift(fits) : fits(retry) ? this.#retries.shift() : undefined;
      if (next === undefined) break;
      next.endWait();
      free?.take(next);
    }
    if (this.#waits() > 0 && this.#slots.every(({ failedStarts }) => failedStarts > MAX_FAILURES)) {
      const lost = [...this.#retries, ...this.#waiting.drain()];
      this.#retries = [];
      for (const { reject } of lost)
        reject(new ScoringError('SCORER_UNAVAILABLE', 'no engine worker could be started'));
    }
    if (this.#waits() === 0 && this.#slots.every(({ held }) => held === 0)) this.#idle();
  }
}

function isLong({ tenant, size }: PendingCall): boolean {
  return tenant !== undefined && size > LONG_TEXT;
}

function leastLoaded(slots: readonly WorkerSlot[], call: PendingCall): WorkerSlot | undefined {
  let best: WorkerSlot | undefined;
  for (const slot of slots) if (slot.room(call) > 0 && (best === undefined || slot.load < best.load)) best = slot;
  return best;
}

/** The names of 1.0. */
export {
  /** @alias */
  openEnginePool as openScorerPool,
};
/** The same as `EnginePool`. */
export type ScorerPool = EnginePool;
/** The same as `EnginePoolOptions`. */
export type ScorerPoolOptions = EnginePoolOptions;
/** The same as `EnginePoolStats`. */
export type ScorerPoolStats = EnginePoolStats;
