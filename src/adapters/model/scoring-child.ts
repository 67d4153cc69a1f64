import { type ChildProcess, fork } from 'node:child_process';
import { ModelError } from '../../engine/errors.js';
import type { WindowScore } from '../../engine/ports.js';
import type { FromChild, ToChild } from './onnx-messages.js';
import type { NetworkSpec } from './onnx-network.js';

/** How a scoring child is started and watched. */
export interface ChildOptions {
  /** The program to fork. */
  readonly file: string;
  /** Milliseconds that loading may take. */
  readonly loadTimeoutMs: number;
  /** Milliseconds that one window may take; then the child is killed. */
  readonly runTimeoutMs: number;
}

/** A child process with a loaded network. One run at a time. */
export interface ScoringChild {
  /** Rejects with `MODEL_CRASHED` or `MODEL_HUNG` when the child is gone afterwards. */
  run(ids: readonly number[]): Promise<WindowScore>;
  readonly pid: number | undefined;
  alive(): boolean;
  /** Resident memory after the last run. */
  rssBytes(): number;
  kill(): void;
}

/** Nothing of the parent's environment that the runtime doesn't need: it may hold secrets. */
const PASSED_ON = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMPDIR'];

/**
 * Forks a child and loads the network in it. An idle child doesn't keep this process alive, and it ends
 * when this process does.
 *
 * @throws ModelError as `openNetwork` does, `MODEL_CRASHED`, `MODEL_HUNG`
 */
export async function startScoringChild(spec: NetworkSpec, options: ChildOptions): Promise<ScoringChild> {
  const child = fork(options.file, [], {
    execArgv: ['--max-old-space-size=256'],
    env: Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  let rss = 0;
  const ask = createAsk(child);
  const scoring: ScoringChild = {
    pid: child.pid,
    alive: () => !child.killed && child.exitCode === null && child.signalCode === null && child.connected,
    rssBytes: () => rss,
    kill: () => void child.kill('SIGKILL'),
    async run(ids) {
      const reply = await ask({ kind: 'run', ids }, options.runTimeoutMs);
      if (reply.kind !== 'score') throw unexpected(reply);
      rss = reply.rssBytes;
      return reply.score;
    },
  };
  try {
    const reply = await ask({ kind: 'load', spec }, options.loadTimeoutMs);
    if (reply.kind !== 'ready') throw unexpected(reply);
    return scoring;
  } catch (error) {
    scoring.kill();
    throw error;
  }
}

function unexpected(reply: FromChild): ModelError {
  if (reply.kind === 'failed') return new ModelError(reply.code, reply.message);
  return new ModelError('MODEL_FAILED', 'the scoring process answered out of turn');
}

/** Sends a message and waits for the one reply, for the child's end, or for the time to pass. */
function createAsk(child: ChildProcess): (message: ToChild, timeoutMs: number) => Promise<FromChild> {
  let settle: ((outcome: FromChild | ModelError) => void) | undefined;
  const crashed = (): void => settle?.(new ModelError('MODEL_CRASHED', 'the scoring process ended'));
  child.on('message', (reply) => settle?.(reply as FromChild));
  child.on('exit', crashed);
  child.on('error', crashed);
  child.unref();
  child.channel?.unref();

  return (message, timeoutMs) =>
    new Promise((resolve, reject) => {
      // The channel keeps this process alive only while someone waits for an answer.
      child.channel?.ref();
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        settle?.(new ModelError('MODEL_HUNG', 'the scoring process gave no answer and was killed'));
      }, timeoutMs);
      settle = (outcome) => {
        settle = undefined;
        clearTimeout(timer);
        child.channel?.unref();
        if (outcome instanceof ModelError) reject(outcome);
        else resolve(outcome);
      };
      if (child.connected) child.send(message, (error) => error && crashed());
      else crashed();
    });
}
