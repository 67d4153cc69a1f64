import { parentPort } from 'node:worker_threads';

/** One side of a conversation between two processes or threads: either may ask, and each request has one reply. */
export interface Peer {
  /**
   * Sends a request: at once where none is on its way, else with the others of this turn of the event loop. Rejects with the
   * failure of the other side, or when that ends.
   */
  ask<Reply>(request: unknown): Promise<Reply>;
  /** Sends what is kept back for a common message. */
  flush(): void;
}

/** An error on its way between processes, which its class does not survive. */
export interface Failure {
  readonly name: string;
  readonly code: string;
  readonly message: string;
}

type Message =
  | { readonly ask: number; readonly body: unknown }
  | { readonly reply: number; readonly value: unknown }
  | { readonly reply: number; readonly failed: Failure };

/** Requests and replies that go together: a message costs more than its content. */
export interface Packet {
  readonly messages: readonly Message[];
  /** Resident memory of the sender. */
  readonly rssBytes: number;
}

/** Gives the reply to a request, or a promise of it. */
export type Answer<Request> = (request: Request) => unknown;

/** How requests are answered. */
export interface AnswerOptions {
  /** One after the other. Default: as they come. */
  readonly inOrder?: boolean | undefined;
  /** False for an error that is a bug: it is thrown, and so ends the process. Default: each one is a reply. */
  readonly isExpected?: ((error: unknown) => boolean) | undefined;
}

/** The parts of a peer. */
export interface PeerParts extends AnswerOptions {
  readonly send: (messages: Packet['messages']) => void;
  readonly answer: Answer<never>;
  readonly toError: (failure: Failure) => Error;
}

/** A peer as its transport uses it. */
export interface ConnectedPeer extends Peer {
  take(packet: Packet): void;
  /** Rejects what is asked, and what will be. */
  end(error: Error): void;
}

/** Longest time that a reply waits for others, milliseconds. */
const KEEP_BACK_MS = 4;

/** Makes one side of a conversation over any transport. */
export function createPeer({ send, answer, toError, inOrder, isExpected = () => true }: PeerParts): ConnectedPeer {
  const asked = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  let nextId = 1;
  let unanswered = 0;
  let kept: Message[] = [];
  let keptSince = 0;
  let ended: Error | undefined;
  let last: Promise<void> | undefined;

  function flush(): void {
    if (kept.length === 0) return;
    const messages = kept;
    kept = [];
    send(messages);
  }

  function post(message: Message, isUrgent: boolean): void {
    kept.push(message);
    if (kept.length > 1) {
      if (performance.now() - keptSince > KEEP_BACK_MS) flush();
      return;
    }
    keptSince = performance.now();
    if (isUrgent) queueMicrotask(flush);
    else setImmediate(flush);
  }

  function reply(message: Message): void {
    unanswered -= 1;
    post(message, false);
    if (unanswered === 0) flush();
  }

  function respond(id: number, body: never): void {
    unanswered += 1;
    const answered =
      last === undefined ? new Promise((resolve) => resolve(answer(body))) : last.then(() => answer(body));
    const replied = answered.then(
      (value) => reply({ reply: id, value }),
      (error: unknown) => {
        if (!isExpected(error)) throw error;
        reply({ reply: id, failed: toFailure(error) });
      },
    );
    if (inOrder) last = replied;
  }

  return {
    flush,
    ask: (body) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) {
          reject(ended);
          return;
        }
        asked.set(nextId, { resolve, reject });
        post({ ask: nextId, body }, asked.size === 1);
        nextId += 1;
      }),
    take({ messages }) {
      for (const message of messages) {
        if ('ask' in message) {
          respond(message.ask, message.body as never);
          continue;
        }
        const waiting = asked.get(message.reply);
        asked.delete(message.reply);
        if ('failed' in message) waiting?.reject(toError(message.failed));
        else waiting?.resolve(message.value as never);
      }
    },
    end(error) {
      ended ??= error;
      for (const { reject } of asked.values()) reject(error);
      asked.clear();
    },
  };
}

function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: 'Error', code: 'unknown', message: 'unknown error' };
  return { name: error.name, code: 'code' in error ? String(error.code) : 'unknown', message: error.message };
}

/** An error as the other side had it, without its class. */
export function asError({ name, code, message }: Failure): Error {
  return Object.assign(new Error(message), { name, code });
}

/**
 * Makes this program, a forked process or a thread, a worker: it answers requests until the one that started it is gone.
 * It can ask, too.
 */
export function serveWorker<Request>(answer: Answer<Request>, options: AnswerOptions = {}): Peer {
  const port = parentPort;
  const peer = createPeer({
    send(messages) {
      if (port === null) process.send?.({ messages, rssBytes: process.memoryUsage.rss() } satisfies Packet);
      // The memory of a thread is that of its process.
      else port.postMessage({ messages, rssBytes: 0 } satisfies Packet);
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
