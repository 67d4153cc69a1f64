import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { errorCode, PortcullisError } from '../engine/errors.js';

/** An error on its way between processes, which its class does not survive. */
export interface Failure {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  /** Whether it is a `PortcullisError`. */
  readonly isOurs: boolean;
  /** Of an error of the operating system. */
  readonly syscall?: string | undefined;
}

type Message =
  | { readonly ask: number; readonly body: unknown }
  | { readonly reply: number; readonly value: unknown }
  | { readonly reply: number; readonly failed: Failure };

/** Requests and replies that go together: a message costs more than its content. */
export interface Packet {
  readonly messages: readonly Message[];
  /** Memory of the sender: what a process has resident, or a thread's heap with what it holds outside of it. */
  readonly memoryBytes: number;
}

/** Gives the reply to a request, or a promise of it. */
export type Answer<Request> = (request: Request) => unknown;

export interface AnswerOptions {
  /** One after the other. Default: as they come. */
  readonly inOrder?: boolean | undefined;
  /** False for an error that is a bug: it is thrown, and so ends the process. Default: each one is a reply. */
  readonly isExpected?: ((error: unknown) => boolean) | undefined;
}

export interface PeerParts extends AnswerOptions {
  readonly send: (messages: Packet['messages']) => void;
  readonly answer: Answer<never>;
  readonly toError: (failure: Failure) => Error;
}

/** Longest time that a reply waits for others, milliseconds. */
const KEEP_BACK_MS = 4;

/** One side of a conversation between two processes or threads, over any transport: either may ask, and each request has one reply. */
export class Peer {
  readonly #parts: PeerParts;
  readonly #asked = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  #nextId = 1;
  #unanswered = 0;
  #kept: Message[] = [];
  #keptSince = 0;
  #ended: Error | undefined;
  #last: Promise<void> | undefined;

  constructor(parts: PeerParts) {
    this.#parts = parts;
  }

  /**
   * Sends a request: at once where none is on its way, else with the others of this turn of the event loop. Rejects with the
   * failure of the other side, or when that ends.
   */
  ask<Reply>(body: unknown): Promise<Reply> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#asked.set(id, { resolve, reject });
      this.#post({ ask: id, body }, this.#asked.size === 1);
    });
  }

  /** Sends what is kept back for a common message. */
  flush(): void {
    if (this.#kept.length === 0) return;
    const messages = this.#kept;
    this.#kept = [];
    this.#parts.send(messages);
  }

  /** Takes what the transport brought. */
  take({ messages }: Packet): void {
    for (const message of messages) {
      if ('ask' in message) {
        this.#respond(message.ask, message.body as never);
        continue;
      }
      const waiting = this.#asked.get(message.reply);
      this.#asked.delete(message.reply);
      if ('failed' in message) waiting?.reject(this.#parts.toError(message.failed));
      else waiting?.resolve(message.value as never);
    }
  }

  /** Rejects what is asked, and what will be. */
  end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
  }

  #post(message: Message, isUrgent: boolean): void {
    this.#kept.push(message);
    if (this.#kept.length > 1) {
      if (performance.now() - this.#keptSince > KEEP_BACK_MS) this.flush();
      return;
    }
    this.#keptSince = performance.now();
    if (isUrgent) queueMicrotask(() => this.flush());
    else setImmediate(() => this.flush());
  }

  #respond(id: number, body: never): void {
    const { answer, inOrder, isExpected = () => true } = this.#parts;
    this.#unanswered += 1;
    const answered =
      this.#last === undefined ? new Promise((resolve) => resolve(answer(body))) : this.#last.then(() => answer(body));
    const replied = answered.then(
      (value) => this.#reply({ reply: id, value }),
      (error: unknown) => {
        if (!isExpected(error)) throw error;
        this.#reply({ reply: id, failed: toFailure(error) });
      },
    );
    if (inOrder) this.#last = replied;
  }

  #reply(message: Message): void {
    this.#unanswered -= 1;
    this.#post(message, false);
    if (this.#unanswered === 0) this.flush();
  }
}

function toFailure(error: unknown): Failure {
  const { name, message, syscall }: NodeJS.ErrnoException = error instanceof Error ? error : new Error('unknown error');
  return { name, message, code: errorCode(error) || 'unknown', isOurs: error instanceof PortcullisError, syscall };
}

/** A worker is lost, or failed with an error of this library, whose code and message this one has. */
class WorkerError extends PortcullisError {
  /** `WORKER_ENDED`: it crashed, was killed or ran out of memory. `WORKER_LATE`: it did not reply in time and was killed. */
  readonly code: 'WORKER_ENDED' | 'WORKER_LATE' | (string & {});

  constructor({ name, code, message }: Failure) {
    super(message);
    this.name = name;
    this.code = code;
  }
}

/** An error as the other side had it, without its class. */
export function asError(failure: Failure): Error {
  const { isOurs, message, ...rest } = failure;
  return isOurs ? new WorkerError(failure) : Object.assign(new Error(message), rest);
}

function heapBytes(): number {
  const { total_physical_size, external_memory } = getHeapStatistics();
  return total_physical_size + external_memory;
}

/**
 * Makes this program, a forked process or a thread, a worker: it answers requests until the one that started it is gone.
 * It can ask, too.
 */
export function serveWorker<Request>(answer: Answer<Request>, options: AnswerOptions = {}): Peer {
  const port = parentPort;
  const peer = new Peer({
    send(messages) {
      if (port === null) process.send?.({ messages, memoryBytes: process.memoryUsage.rss() } satisfies Packet);
      else port.postMessage({ messages, memoryBytes: heapBytes() } satisfies Packet);
    },
    answer,
    toError: asError,
    ...options,
  });
  (port ?? process).on('message', (packet: Packet) => peer.take(packet));
  if (port === null) {
    process.on('disconnect', () => process.exit(0));
    // An operator's signal is for the parent; a worker ends when the parent does.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  }
  return peer;
}
