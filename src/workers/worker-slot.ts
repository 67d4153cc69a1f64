import { type Backoff, createBackoff } from '../adapters/worker.js';
import { errorCode, ModelError } from '../engine/errors.js';
import type { Clock } from '../engine/ports.js';
import { type EngineWorkerSettings, ScoringError, type WorkerCall } from './calls.js';
import { type OpenWorker, type OpenWorkerOptions, openWorker } from './open-worker.js';

/** Settings of a slot. Times in milliseconds. */
export interface SlotOptions extends Omit<OpenWorkerOptions, 'onEnd'> {
  readonly settings: EngineWorkerSettings;
  /** A worker above it when it has nothing to do is replaced. */
  readonly memoryLimitMb: number;
  readonly restartMs: number;
  /** Calls that may be in one worker at once, and their characters together. */
  readonly depth: () => number;
  readonly characters: number;
  readonly clock: Clock;
  /** False for a worker whose versions aren't the pool's. */
  readonly fits: (worker: OpenWorker) => boolean;
  readonly onFree: () => void;
  readonly onLoss: (toRetry: readonly PendingCall[]) => void;
}

const MAX_RESTART_MS = 30_000;

/** A place for one worker, filled again when the worker is lost. */
export class WorkerSlot {
  readonly #options: SlotOptions;
  readonly #backoff: Backoff;
  #worker: OpenWorker | undefined;
  #held: PendingCall[] = [];
  #characters = 0;
  #failedStarts = 0;
  #isStopped = false;
  #isRetiring = false;
  #isPlanned = false;
  #cancelTimer = (): void => {};
  #cancelRestart = (): void => {};

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#backoff = createBackoff(options.restartMs, MAX_RESTART_MS);
  }

  get isReady(): boolean {
    return this.#worker !== undefined;
  }

  get pid(): number | undefined {
    return this.#worker?.pid;
  }

  /** Calls in the worker. */
  get held(): number {
    return this.#held.length;
  }

  /** How much the worker has to do already: characters. */
  get load(): number {
    return this.#characters + this.#held.length * 64;
  }

  /** Starts one after another that gave no worker; a worker that came up and was lost later isn't one. */
  get failedStarts(): number {
    return this.#failedStarts;
  }

  /** Rejects if no worker is available; a failed start is retried by itself. */
  async start(): Promise<OpenWorker> {
    const { settings, fits, onFree } = this.#options;
    let mine: OpenWorker | undefined;
    try {
      mine = await openWorker(settings, { ...this.#options, onEnd: (isForeign) => this.#lose(isForeign) });
      if (!fits(mine))
        throw new ModelError('MODEL_LOAD', 'the rules or the model on disk changed after the pool was opened');
    } catch (error) {
      mine?.kill();
      this.#failedStarts += 1;
      if (!this.#isStopped) this.#startLater();
      onFree();
      throw error;
    }
    if (this.#isStopped) mine.kill();
    else this.#worker = mine;
    this.#failedStarts = 0;
    onFree();
    return mine;
  }

  /** How many more calls it takes now; 0 while there is no worker. */
  room(pending: PendingCall): number {
    const { depth, characters } = this.#options;
    if (this.#worker === undefined || this.#isRetiring || this.#held.some(({ isAlone }) => isAlone)) return 0;
    if (this.#held.length === 0) return depth();
    if (pending.isAlone || this.#characters + pending.size > characters) return 0;
    return depth() - this.#held.length;
  }

  take(pending: PendingCall): void {
    this.#held.push(pending);
    this.#characters += pending.size;
    if (this.#held.length === 1) this.#watch();
    if (this.#worker !== undefined) void this.#ask(this.#worker, pending);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelRestart();
    this.#worker?.kill();
  }

  /** Hands the reply to the one who waits. A call without one is lost with its worker. */
  async #ask(worker: OpenWorker, pending: PendingCall): Promise<void> {
    let settle: () => void;
    try {
      const answer = await worker.ask(pending.call);
      settle = () => pending.resolve(answer);
    } catch (error) {
      if (errorCode(error) === 'WORKER_ENDED') return;
      settle = () => pending.reject(error as Error);
    }
    this.#held = this.#held.filter((it) => it !== pending);
    this.#characters -= pending.size;
    settle();
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // Once for all replies of a message.
    queueMicrotask(() => this.#goOn());
  }

  #goOn(): void {
    const { memoryLimitMb, onFree } = this.#options;
    this.#isPlanned = false;
    this.#backoff.reset();
    this.#watch();
    if (this.#held.length === 0 && this.#worker !== undefined && this.#worker.memoryBytes() > memoryLimitMb * 2 ** 20) {
      // It takes nothing more: its end comes a moment later.
      this.#isRetiring = true;
      this.#worker.kill();
    }
    onFree();
  }

  /** The worker works on the first call it holds; it has that call's time, from the answer before on. */
  #watch(): void {
    this.#cancelTimer();
    const [first] = this.#held;
    this.#cancelTimer =
      first === undefined ? () => {} : this.#options.clock.after(first.deadlineMs, () => this.#worker?.kill());
  }

  #lose(isForeignKill: boolean): void {
    this.#cancelTimer();
    const lost = this.#held;
    this.#worker = undefined;
    this.#isRetiring = false;
    this.#held = [];
    this.#characters = 0;
    if (this.#isStopped) {
      for (const pending of lost) pending.reject(new ScoringError('SCORER_CLOSED', 'the workers were closed'));
      return;
    }
    this.#startLater();
    this.#options.onLoss(afterLoss(lost, isForeignKill));
  }

  #startLater(): void {
    // The pool hears of it through `failedStarts`; the next try comes by itself.
    const start = (): void => void this.start().catch(() => undefined);
    this.#cancelRestart = this.#options.clock.after(this.#backoff.next(), start);
  }
}

/** A call that somebody waits for. */
export interface PendingCall {
  /** Without the model once a worker was lost over it. */
  call: WorkerCall;
  readonly usesModel: boolean;
  /** The tenant of the call; undefined for a call without one. */
  readonly tenant: string | undefined;
  /** Milliseconds a worker may take over it. */
  readonly deadlineMs: number;
  /** Its rough cost: UTF-16 code units. */
  readonly size: number;
  /** Strikes for workers that were lost over this very call: 2 for one that crashed or hung, 1 for one killed from outside. */
  strikes: number;
  /** Sent with no other call, so that the loss of a worker points at it. */
  isAlone: boolean;
  /** Starts its time to wait: when that ends before `endWait`, the call is refused. Called again after a worker is lost. */
  readonly wait: () => void;
  /** A worker has it, or its caller no longer waits. */
  readonly endWait: () => void;
  /** Takes the verdict, or what came of a task. */
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

const MAX_STRIKES = 4;

/**
 * The calls of a lost worker that are tried again, in order. The first one was running. Asked of a model, it is answered by the
 * rules next; asked of the rules among others, each is tried alone first. A call is rejected once two workers crashed or hung
 * over it; a worker that was killed from outside (an operator, the OOM killer) counts half. A task is rejected at once: its
 * sender splits it.
 */
function afterLoss(held: readonly PendingCall[], isForeignKill: boolean): readonly PendingCall[] {
  const [first, ...rest] = held;
  if (first === undefined) return [];
  const { call } = first;
  if (call.kind === 'task') {
    first.reject(new ScoringError('SCORER_LOST', 'a worker was lost over this task'));
    return rest;
  }
  if (!first.usesModel && rest.length > 0) {
    for (const pending of held) pending.isAlone = true;
    return held;
  }
  first.strikes += isForeignKill ? 1 : 2;
  if (first.strikes >= MAX_STRIKES) {
    first.reject(new ScoringError('SCORER_LOST', 'workers were lost over this input, one after another'));
    return rest;
  }
  first.isAlone = true;
  first.call = { ...call, withoutModel: first.usesModel };
  return held;
}
