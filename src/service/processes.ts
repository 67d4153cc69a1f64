import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import pino, { type Logger } from 'pino';
import { AggregatorRegistry } from 'prom-client';
import { asError, type Failure, type Packet, Peer } from '../adapters/peer.js';
import { childProgram, createBackoff } from '../adapters/worker.js';
import { holdFolder } from '../store/open-store.js';
import { isStoreCode, StoreError } from '../store/store-error.js';
import { ScoringError } from '../workers/calls.js';
import type { RunningService } from './run-service.js';
import type { ServiceSettings } from './settings.js';

/** Waits before a process that ended is started again, milliseconds. */
const FIRST_RESTART_MS = 100;
const MAX_RESTART_MS = 5_000;

/** A process that ran for so long hasn't failed at its start. */
const SETTLED_MS = 10_000;

/** A process may take so long to end: longer than its calls may. */
const END_MS = 25_000;

/** A request of the first process to another one: to serve, to note that the first account was shown, to end. */
export type ProcessRequest =
  | { readonly kind: 'serve'; readonly settings: ServiceSettings; readonly isFirst: boolean }
  | { readonly kind: 'shown' }
  | { readonly kind: 'close' };

/** A request of another process to the first one. */
export interface FirstRequest {
  /** `started`: it listens, and what is sent before is lost. `metrics`: those of all processes, as Prometheus reads them. */
  readonly kind: 'started' | 'metrics';
}

export type StartedProcess = Pick<RunningService, 'url' | 'firstAccount'>;

/**
 * Starts a service of several processes on one port. This process hands out connections and starts again what ends; it
 * serves nothing itself. The first of the others brings the database up to date before the rest start.
 *
 * @throws StoreError, ScoringError; Error of `listen`
 */
export async function serveProcesses(settings: ServiceSettings): Promise<RunningService> {
  const release = settings.data === undefined ? () => undefined : await holdFolder(settings.data);
  const processes = new Processes(settings);
  const close = async (): Promise<void> => {
    await processes.close();
    release();
  };
  try {
    const { worker, ...first } = await processes.start(true);
    // Port 0 is the same free one for all of them.
    await Promise.all(Array.from({ length: settings.processes - 1 }, () => processes.start(false)));
    processes.isUp = true;
    return { ...first, firstAccountShown: () => worker.ask({ kind: 'shown' }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface ServiceWorker {
  readonly child: Worker;
  ask<Reply>(request: ProcessRequest): Promise<Reply>;
  end(): void;
}

class Processes {
  readonly #settings: ServiceSettings;
  readonly #log: Logger;
  readonly #registry = new AggregatorRegistry();
  readonly #running = new Set<ServiceWorker>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  #isClosing = false;
  /** From then on a process that ends is started again. */
  isUp = false;

  constructor(settings: ServiceSettings) {
    const exec = childProgram('service-process');
    if (exec === undefined)
      throw new ScoringError('SCORER_UNAVAILABLE', "the service's program isn't there; build first");
    cluster.setupPrimary({ exec, args: [], serialization: 'advanced' });
    this.#settings = settings;
    this.#log = pino({ level: settings.logLevel, base: null }, pino.destination(2));
  }

  /** Starts one process; once it has been up, it is started again whenever it ends. */
  async start(
    isFirst: boolean,
    backoff = createBackoff(FIRST_RESTART_MS, MAX_RESTART_MS),
  ): Promise<StartedProcess & { readonly worker: ServiceWorker }> {
    let settled: NodeJS.Timeout | undefined;
    const worker = this.#fork((code, signal) => {
      clearTimeout(settled);
      this.#running.delete(worker);
      if (this.#isClosing || !this.isUp) return;
      const restart = setTimeout(() => {
        this.#restarts.delete(restart);
        this.start(isFirst, backoff).catch(() => undefined);
      }, backoff.next());
      this.#restarts.add(restart);
      const { pid } = worker.child.process;
      this.#log.error({ pid, code, signal }, 'a process of the service ended; it is started again');
    });
    this.#running.add(worker);
    const serving = worker.ask<StartedProcess>({ kind: 'serve', settings: this.#settings, isFirst });
    serving.catch(() => worker.end());
    const started = await serving;
    settled = setTimeout(backoff.reset, SETTLED_MS).unref();
    return { ...started, worker };
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const restart of this.#restarts) clearTimeout(restart);
    await Promise.all(
      [...this.#running].map(async ({ child, end }) => {
        if (child.isDead()) return;
        const ended = once(child.process, 'exit');
        const late = setTimeout(() => child.process.kill('SIGKILL'), END_MS);
        end();
        await ended;
        clearTimeout(late);
      }),
    );
  }

  #fork(onExit: (code: number, signal: string) => void): ServiceWorker {
    const child = cluster.fork();
    let listens = (): void => {};
    const listening = new Promise<void>((resolve) => {
      listens = resolve;
    });
    const peer = new Peer({
      async send(messages) {
        await listening;
        // One that is just ending doesn't get it: its `exit` follows.
        if (child.isConnected()) child.send({ messages, memoryBytes: 0 } satisfies Packet, () => undefined);
      },
      answer: ({ kind }: FirstRequest) => (kind === 'started' ? listens() : this.#registry.clusterMetrics()),
      toError,
    });
    // The reason for its failure is in its exit message.
    child.on('error', () => undefined);
    child.on('message', (packet: Packet) => {
      if (Array.isArray(packet.messages)) peer.take(packet);
    });
    child.on('exit', (code, signal) => {
      peer.end(new ScoringError('SCORER_UNAVAILABLE', 'a process of the service exited during start-up'));
      onExit(code, signal);
    });
    const ask = <Reply>(request: ProcessRequest): Promise<Reply> => peer.ask(request);
    // Its exit is the reply.
    return { child, ask, end: () => void ask({ kind: 'close' }).catch(() => undefined) };
  }
}

function toError(failure: Failure): Error {
  const { code, message } = failure;
  if (isStoreCode(code)) return new StoreError(code, message);
  if (code.startsWith('SCORER_')) return new ScoringError(code as ScoringError['code'], message);
  return asError(failure);
}
