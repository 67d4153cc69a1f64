import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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
  /** It works again: the next wait is the first one. */
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

/** A forked process. */
export interface Child<In> {
  readonly pid: number | undefined;
  isAlive(): boolean;
  send(message: In): void;
  /** Kills it immediately. */
  kill(): void;
  /** Keeps this program alive, or not, while the child runs. At first it doesn't. */
  hold(isBusy: boolean): void;
}

/** What a forked process is started with. */
export interface ChildOptions<Out> {
  readonly file: string;
  /** Bound of its heap, megabytes: an input that needs more ends the child and not the machine. */
  readonly heapMb: number;
  readonly onMessage: (message: Out) => void;
  /** Called once, however it ended. `isForeignKill`: somebody else killed it, an operator or the system for its memory. */
  readonly onEnd: (isForeignKill: boolean) => void;
}

/** Nothing of the parent's environment that a child doesn't need: it may hold secrets. */
const PASSED_ON = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMPDIR'];

/** A closed channel comes a moment before the exit that says why, milliseconds. */
const EXIT_MS = 100;

/** Forks a program that ends when this process does. It gets no secrets of the environment and prints nothing. */
export function forkChild<In, Out>({ file, heapMb, onMessage, onEnd }: ChildOptions<Out>): Child<In> {
  const child: ChildProcess = fork(file, [], {
    execArgv: [`--max-old-space-size=${heapMb}`],
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
  child.on('message', (message) => onMessage(message as Out));
  const hold = (isBusy: boolean): void => {
    for (const part of [child, child.channel]) isBusy ? part?.ref() : part?.unref();
  };
  hold(false);
  return {
    pid: child.pid,
    isAlive: () =>
      !hasEnded && !child.killed && child.exitCode === null && child.signalCode === null && child.connected,
    send(message) {
      // A message that can't be delivered means that the child is gone; its end is never told inside the caller's own turn.
      if (child.connected) child.send(message as object, (error) => error && endSoon());
      else endSoon();
    },
    kill: () => void child.kill('SIGKILL'),
    hold,
  };
}
