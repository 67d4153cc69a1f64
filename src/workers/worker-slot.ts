import { createBackoff } from '../adapters/worker.js';
import { type Clock, ModelError } from '../index.js';
import { type EngineWorkerSettings, ScoringError, type WorkerCall } from './calls.js';
import { startWorkerProcess, type WorkerProcess } from './worker-process.js';

/** Settings of a slot. Times in milliseconds. */
export interface SlotOptions {
  readonly settings: EngineWorkerSettings;
  readonly file: string;
  readonly loadTimeoutMs: number;
  readonly heapMb: number;
  /** A worker above it when it has nothing to do is replaced. */
  readonly memoryLimitMb: number;
  readonly restartMs: number;
  /** Calls that may be in one worker at once, and their characters together. */
  readonly depth: () => number;
  readonly characters: number;
  readonly clock: Clock;
  /** False for a worker whose versions aren't the pool's. */
  readonly fits: (worker: WorkerProcess) => boolean;
  readonly onFree: () => void;
  readonly onLoss: (toRetry: readonly PendingCall[]) => void;
}

/** A place for one worker process, filled again when the process is lost. */
export interface WorkerSlot {
  /** Rejects when the worker can't be had; an unfit start is tried again later by itself. */
  start(): Promise<WorkerProcess>;
  /** How many more calls it takes now; 0 while there is no worker. */
  room(pending: PendingCall): number;
  /** How much it has to do already: characters. */
  load(): number;
  take(pending: PendingCall): void;
  pid(): number | undefined;
  held(): number;
  /** Starts one after another that gave no worker; a worker that came up and was lost later isn't one. */
  failedStarts(): number;
  stop(): void;
}

const MAX_RESTART_MS = 30_000;

/** Makes an empty slot. */
export function createWorkerSlot(options: SlotOptions): WorkerSlot {
  const { clock } = options;
  let worker: WorkerProcess | undefined;
  let held: PendingCall[] = [];
  let characters = 0;
  const backoff = createBackoff(options.restartMs, MAX_RESTART_MS);
  let failedStarts = 0;
  let stopped = false;
  let retiring = false;
  let isPlanned = false;
  let cancelTimer = (): void => {};
  let cancelRestart = (): void => {};

  /** The worker works on the first call it holds; it has that call's time, from the answer before on. */
  function watch(): void {
    cancelTimer();
    const [first] = held;
    cancelTimer = first === undefined ? () => {} : clock.after(first.deadlineMs, () => worker?.kill());
  }

  function lose(killedFromOutside: boolean): void {
    cancelTimer();
    const lost = held;
    worker = undefined;
    retiring = false;
    held = [];
    characters = 0;
    if (stopped) {
      for (const pending of lost) pending.reject(new ScoringError('SCORER_CLOSED', 'the workers were closed'));
      return;
    }
    restartLater();
    options.onLoss(afterLoss(lost, killedFromOutside));
  }

  function retire(): void {
    // It takes nothing more: its end comes a moment later.
    retiring = true;
    worker?.kill();
  }

  function restartLater(): void {
    // The pool hears of it through `failedStarts`; the next try comes by itself.
    cancelRestart = clock.after(backoff.next(), () => void start().catch(() => undefined));
  }

  async function start(): Promise<WorkerProcess> {
    let mine: WorkerProcess | undefined;
    try {
      mine = await startWorkerProcess(options.settings, { ...options, onEnd: lose });
      if (!options.fits(mine))
        throw new ModelError('MODEL_LOAD', 'the rules or the model on disk changed after the pool was opened');
    } catch (error) {
      mine?.kill();
      failedStarts += 1;
      if (!stopped) restartLater();
      options.onFree();
      throw error;
    }
    if (stopped) mine.kill();
    else worker = mine;
    failedStarts = 0;
    options.onFree();
    return mine;
  }

  /** Hands the reply to the one who waits. A call without one is lost with its worker. */
  async function ask(asked: WorkerProcess, pending: PendingCall): Promise<void> {
    let settle: () => void;
    try {
      const answer = await asked.ask(pending.call);
      settle = () => pending.resolve(answer);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'WORKER_ENDED') return;
      settle = () => pending.reject(error as Error);
    }
    held = held.filter((it) => it !== pending);
    characters -= pending.size;
    settle();
    if (isPlanned) return;
    isPlanned = true;
    // Once for all replies of a message.
    queueMicrotask(goOn);
  }

  function goOn(): void {
    isPlanned = false;
    backoff.reset();
    watch();
    if (held.length === 0 && worker !== undefined && worker.rssBytes() > options.memoryLimitMb * 2 ** 20) retire();
    options.onFree();
  }

  return {
    start,
    room(pending) {
      if (worker === undefined || retiring || held.some(({ alone }) => alone)) return 0;
      if (held.length === 0) return options.depth();
      if (pending.alone || characters + pending.size > options.characters) return 0;
      return options.depth() - held.length;
    },
    load: () => characters + held.length * 64,
    take(pending) {
      held.push(pending);
      characters += pending.size;
      if (held.length === 1) watch();
      if (worker !== undefined) void ask(worker, pending);
    },
    pid: () => worker?.pid,
    held: () => held.length,
    failedStarts: () => failedStarts,
    stop() {
      stopped = true;
      cancelRestart();
      worker?.kill();
    },
  };
}

/** A call that somebody waits for. */
export interface PendingCall {
  readonly call: WorkerCall;
  readonly usesModel: boolean;
  /** The tenant of the call; undefined for a call without one. */
  readonly tenant: string | undefined;
  /** Milliseconds a worker may take over it. */
  readonly deadlineMs: number;
  /** Its rough cost: UTF-16 code units. */
  readonly size: number;
  /** Strikes for workers that were lost over this very call: 2 for one that crashed or hung, 1 for one killed from outside. */
  readonly strikes: number;
  /** Sent with no other call, so that the loss of a worker points at it. */
  readonly alone: boolean;
  /** Starts its queueTimeoutMs: when that ends before `endWait`, the call is refused. Called again after a worker is lost. */
  readonly wait: () => void;
  /** A worker has it, or its caller no longer waits. */
  readonly endWait: () => void;
  /** Takes the verdict, or what came of a task. */
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

const MAX_STRIKES = 4;

/**
 * The calls of a lost worker that are tried again, in order. The first one was running. Asked of a model, it is answered by the rules next; asked of the rules among others, each is tried alone
 * first. A call is rejected once two workers crashed or hung over it; a worker that was killed from outside (an
 * operator, the OOM killer) counts half. A task is rejected at once: its sender splits it.
 */
function afterLoss(held: readonly PendingCall[], killedFromOutside: boolean): readonly PendingCall[] {
  const [first, ...rest] = held;
  if (first === undefined) return [];
  if ('task' in first.call) {
    first.reject(new ScoringError('SCORER_LOST', 'a worker was lost over this task'));
    return rest;
  }
  if (!first.usesModel && rest.length > 0) return held.map((pending) => ({ ...pending, alone: true }));
  const strikes = first.strikes + (killedFromOutside ? 1 : 2);
  if (strikes >= MAX_STRIKES) {
    first.reject(new ScoringError('SCORER_LOST', 'workers were lost over this input, one after another'));
    return rest;
  }
  return [{ ...first, strikes, alone: true, call: { ...first.call, withoutModel: first.usesModel } }, ...rest];
}
