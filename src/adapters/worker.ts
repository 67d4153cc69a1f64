import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker as Thread } from 'node:worker_threads';
import { type Answer, asError, type Failure, type Packet, Peer } from './peer.js';

/**
 * The path of a program that child processes run, which the build puts at the top of `dist`; undefined where it isn't
 * built. The bundler may put this file at the top or into a folder of `dist`.
 */
export function childProgram(name: string): string | undefined {
  return ['./', '../']
    .map((folder) => fileURLToPath(new URL(`${folder}${name}.js`, import.meta.url)))
    .find((file) => existsSync(file));
}

/** How long to wait before a child or a thread is started again. Times in milliseconds. */
export interface Backoff {
  /** The wait before the next start; each one is twice as long as the one before. */
  next(): number;
  /** Called when it works: the next wait is the first one again. */
  reset(): void;
}

/** `firstMs`, doubled with each failure in a row up to `mostMs`. `atOnce`: a first failure waits for nothing. */
export function createBackoff(firstMs: number, mostMs: number, atOnce = true): Backoff {
  let failures = 0;
  return {
    next() {
      const doublings = failures - (atOnce ? 1 : 0);
      failures += 1;
      return doublings < 0 ? 0 : Math.min(firstMs * 2 ** doublings, mostMs);
    },
    reset() {
      failures = 0;
    },
  };
}

/** A process or thread that runs one of this package's programs (`serveWorker`). */
export interface Worker {
  /** Undefined for a thread. */
  readonly pid: number | undefined;
  isAlive(): boolean;
  /**
   * Sends a request and waits for its reply, which keeps this program alive meanwhile. A worker that takes longer than
   * `timeoutMs` is killed. Rejects with the worker's error, or with one of code `WORKER_ENDED` or `WORKER_LATE`.
   */
  ask<Reply>(request: unknown, timeoutMs?: number): Promise<Reply>;
  /** Its memory when it last replied, see `Packet`. */
  memoryBytes(): number;
  /** Kills a process, or a thread that `canTerminate`, at once. */
  kill(): void;
}

export interface WorkerOptions {
  readonly file: string;
  /** True: a thread of this process. Default: a process of its own. */
  readonly isThread?: boolean | undefined;
  /** Of a thread: no native code runs in it for long, so that it can be stopped at any time. Default false. */
  readonly canTerminate?: boolean | undefined;
  /** Bound of its heap, megabytes: an input that needs more ends the worker and not the machine. Default: V8's. */
  readonly heapMb?: number | undefined;
  /** Of a thread: bound of what it allocated lately, megabytes. Default: V8's, 48. */
  readonly youngMb?: number | undefined;
  readonly answer?: Answer<never> | undefined;
  /** Makes an error of the worker's failure, or of its loss. Default: an `Error` with its name and code. */
  readonly toError?: ((failure: Failure) => Error) | undefined;
  /**
   * Called once, however it ended; not for a thread that was killed here and can't be terminated. `isForeignKill`: somebody else killed it, an
   * operator or the system for its memory.
   */
  readonly onEnd?: ((isForeignKill: boolean) => void) | undefined;
}

/** Starts a worker. An idle one doesn't keep this program alive, and it ends when this program does. */
export function startWorker(options: WorkerOptions): Worker {
  const { isThread = false, toError = asError, answer = refuse, onEnd } = options;
  let memoryBytes = 0;
  let waiting = 0;
  const end = (code: 'WORKER_ENDED' | 'WORKER_LATE', message = 'the worker ended'): void =>
    peer.end(toError({ name: 'WorkerError', code, message, isOurs: true }));
  const child = (isThread ? startThread : forkChild)({
    ...options,
    onPacket(packet) {
      memoryBytes = packet.memoryBytes;
      peer.take(packet);
    },
    onEnd(isForeignKill, reason) {
      onEnd?.(isForeignKill);
      end('WORKER_ENDED', reason?.message);
    },
  });
  const peer = new Peer({ send: (messages) => child.send({ messages, memoryBytes: 0 }), answer, toError });
  const kill = (): void => {
    child.kill();
    if (isThread) end('WORKER_ENDED');
  };

  async function ask<Reply>(request: unknown, timeoutMs?: number): Promise<Reply> {
    const expire = (): void => {
      end('WORKER_LATE', 'the worker did not reply in time');
      kill();
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
    if (++waiting === 1) child.hold(true);
    try {
      return await peer.ask<Reply>(request);
    } finally {
      clearTimeout(timer);
      if (--waiting === 0) child.hold(false);
    }
  }

  return { pid: child.pid, isAlive: child.isAlive, ask, memoryBytes: () => memoryBytes, kill };
}

function refuse(): never {
  throw new Error('this worker has nothing to ask');
}

/** The transport to a worker. */
interface Child {
  readonly pid: number | undefined;
  isAlive(): boolean;
  send(packet: Packet): void;
  kill(): void;
  /** Keeps this program alive, or not, while the child runs. At first it doesn't. */
  hold(isBusy: boolean): void;
}

interface ChildOptions extends Pick<WorkerOptions, 'file' | 'heapMb' | 'youngMb' | 'canTerminate'> {
  readonly onPacket: (packet: Packet) => void;
  readonly onEnd: (isForeignKill: boolean, reason?: Error) => void;
}

/** Nothing of the parent's environment that a child doesn't need: it may hold secrets. */
const PASSED_ON = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMPDIR'];

/** A closed channel comes a moment before the exit that says why, milliseconds. */
const EXIT_MS = 100;

/** Forks a program. It gets no secrets of the environment and prints nothing. */
function forkChild({ file, heapMb, onPacket, onEnd }: ChildOptions): Child {
  const child: ChildProcess = fork(file, [], {
    execArgv: heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`],
    env: Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    // Bytes can be sent as they are; for texts and verdicts it costs the same as JSON.
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  let hasEnded = false;
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    // `killed` is true when this process sent the signal.
    const isForeignKill = child.signalCode === 'SIGKILL' && !child.killed;
    child.kill('SIGKILL');
    onEnd(isForeignKill);
  };
  const endSoon = (): void => void setTimeout(end, EXIT_MS);
  child.on('exit', end);
  child.on('error', end);
  child.on('disconnect', () => setTimeout(end, EXIT_MS).unref());
  child.on('message', (packet) => onPacket(packet as Packet));
  const hold = (isBusy: boolean): void => {
    for (const part of [child, child.channel]) isBusy ? part?.ref() : part?.unref();
  };
  hold(false);
  return {
    pid: child.pid,
    isAlive: () =>
      !hasEnded && !child.killed && child.exitCode === null && child.signalCode === null && child.connected,
    send(packet) {
      // A message that can't be delivered means that the child is gone; its end is never told inside the caller's own turn.
      if (child.connected) child.send(packet, (error) => error && endSoon());
      else endSoon();
    },
    kill: () => void child.kill('SIGKILL'),
    hold,
  };
}

/**
 * Starts a thread. To stop a thread while native code runs in it would end this process: unless it `canTerminate`, a thread
 * that is killed is heard no more, ends what it does, and stops with its next message.
 */
function startThread({ file, heapMb, youngMb, canTerminate = false, onPacket, onEnd }: ChildOptions): Child {
  const resourceLimits = {
    ...(heapMb === undefined ? {} : { maxOldGenerationSizeMb: heapMb }),
    ...(youngMb === undefined ? {} : { maxYoungGenerationSizeMb: youngMb }),
  };
  // Without flags of the program that uses this library, which may not suit a thread.
  const worker = new Thread(file, { env: {}, execArgv: [], resourceLimits });
  let isAlive = true;
  let isHeard = true;
  let isRunning = false;
  const stop = (): void => {
    if (canTerminate || !isRunning) void worker.terminate();
  };
  const end = (reason?: Error): void => {
    isAlive = false;
    if (isHeard) onEnd(false, reason);
    isHeard = false;
  };
  // Its last messages come in the same turn of the event loop, and what waits for them goes on first.
  worker.on('exit', () => setImmediate(end));
  worker.on('error', (reason: unknown) => setImmediate(end, reason as Error));
  worker.on('message', (packet: Packet) => {
    isRunning = false;
    if (isAlive) onPacket(packet);
    else stop();
  });
  worker.unref();
  return {
    pid: undefined,
    isAlive: () => isAlive,
    send(packet) {
      isRunning = true;
      worker.postMessage(packet);
    },
    kill() {
      isAlive = false;
      isHeard &&= canTerminate;
      stop();
    },
    hold: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
  };
}
