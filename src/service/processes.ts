import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import pino from 'pino';
import { AggregatorRegistry } from 'prom-client';
import { childProgram, createBackoff } from '../adapters/worker.js';
import { holdFolder } from '../store/open-store.js';
import { StoreError, type StoreErrorCode } from '../store/store-error.js';
import { ScoringError } from '../workers/calls.js';
import type { FirstAccount, UnshownAccount } from './first-account.js';
import type { RunningService } from './run-service.js';
import type { ServiceSettings } from './settings.js';

/** Waits before a process that ended is started again, milliseconds. */
const FIRST_RESTART_MS = 100;
const MAX_RESTART_MS = 5_000;

/** A process that ran for so long hasn't failed at its start. */
const SETTLED_MS = 10_000;

/** A process may take so long to end: longer than its calls may. */
const END_MS = 25_000;

type Ready = Extract<FromProcess, { readonly kind: 'ready' }>;

/**
 * Starts a service of several processes on one port. This process hands out connections and starts again what ends; it
 * serves nothing itself. The first of the others brings the database up to date before the rest start.
 *
 * @throws StoreError, ScoringError; Error of `listen`
 */
export async function serveProcesses(settings: ServiceSettings): Promise<RunningService> {
  const log = pino({ level: settings.logLevel, base: null }, pino.destination(2));
  const release = settings.data === undefined ? () => undefined : await holdFolder(settings.data);
  const exec = childProgram('service-process');
  if (exec === undefined)
    throw new ScoringError('SCORER_UNAVAILABLE', "the service's program isn't there; build first");
  cluster.setupPrimary({ exec, args: [], serialization: 'advanced' });
  const registry = new AggregatorRegistry();
  const running = new Set<Worker>();
  const restarts = new Set<NodeJS.Timeout>();
  let closing = false;

  const tell = (worker: Worker, message: ToProcess): void => {
    // One that is just ending doesn't get it: its `exit` follows.
    if (worker.isConnected()) worker.send(message, () => undefined);
  };
  const sendMetrics = async (worker: Worker, id: number): Promise<void> => {
    const page = await registry.clusterMetrics().catch(() => null);
    tell(worker, { kind: 'metrics', id, page });
  };

  /** Starts one process; once it has been up, it is started again whenever it ends. */
  function start(isFirst: boolean, backoff = createBackoff(FIRST_RESTART_MS, MAX_RESTART_MS)) {
    return new Promise<{ readonly ready: Ready; readonly worker: Worker }>((resolve, reject) => {
      const worker = cluster.fork();
      let settled: NodeJS.Timeout | undefined;
      running.add(worker);
      // The reason for its failure is in its exit message.
      worker.on('error', () => undefined);
      worker.on('message', (message: FromProcess) => {
        if (message.kind === 'started') tell(worker, { kind: 'serve', settings, isFirst });
        else if (message.kind === 'metrics') void sendMetrics(worker, message.id);
        else if (message.kind === 'refused') reject(toError(message.error));
        else if (message.kind === 'ready') {
          settled = setTimeout(backoff.reset, SETTLED_MS).unref();
          resolve({ ready: message, worker });
        }
      });
      worker.on('exit', (code, signal) => {
        clearTimeout(settled);
        running.delete(worker);
        reject(new ScoringError('SCORER_UNAVAILABLE', 'a process of the service exited during start-up'));
        if (closing || !isUp) return;
        const restart = setTimeout(() => {
          restarts.delete(restart);
          start(isFirst, backoff).catch(() => undefined);
        }, backoff.next());
        restarts.add(restart);
        log.error({ pid: worker.process.pid, code, signal }, 'a process of the service ended; it is started again');
      });
    });
  }

  async function close(): Promise<void> {
    closing = true;
    for (const restart of restarts) clearTimeout(restart);
    await Promise.all(
      [...running].map(async (worker) => {
        if (worker.isDead()) return;
        const ended = once(worker.process, 'exit');
        const late = setTimeout(() => worker.process.kill('SIGKILL'), END_MS);
        tell(worker, { kind: 'close' });
        await ended;
        clearTimeout(late);
      }),
    );
    release();
  }

  let isUp = false;
  try {
    const { ready, worker } = await start(true);
    // Port 0 is the same free one for all of them.
    await Promise.all(Array.from({ length: settings.processes - 1 }, () => start(false)));
    isUp = true;
    return {
      url: ready.url,
      firstAccount: ready.firstAccount,
      firstAccountShown: async () => tell(worker, { kind: 'shown' }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function toError({ name, message, code, syscall }: ProcessFailure): Error {
  if (name === 'StoreError') return new StoreError(code as StoreErrorCode, message);
  if (name === 'ScoringError') return new ScoringError(code as ScoringError['code'], message);
  return Object.assign(new Error(message), { name, code, syscall });
}

/** Messages from the first process of a service to the others. */
export type ToProcess =
  | { readonly kind: 'serve'; readonly settings: ServiceSettings; readonly isFirst: boolean }
  | { readonly kind: 'shown' }
  | { readonly kind: 'metrics'; readonly id: number; readonly page: string | null }
  | { readonly kind: 'close' };

/** Messages from the others to the first process. */
export type FromProcess =
  /** It listens: what is sent before is lost. */
  | { readonly kind: 'started' }
  | { readonly kind: 'ready'; readonly url: string; readonly firstAccount: FirstAccount | UnshownAccount | undefined }
  | { readonly kind: 'refused'; readonly error: ProcessFailure }
  | { readonly kind: 'metrics'; readonly id: number };

/** An error as it crosses processes: what the command line tells it by. */
export interface ProcessFailure {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly syscall: string | undefined;
}
