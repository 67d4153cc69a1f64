/** The MCP gateway in process: guards a transport of the official SDK. `portcullis mcp-proxy` is the same as a process of its own. */
import { checkOptions } from '../../engine/options.js';
import type { Guard } from '../../policy/index.js';
import { withMembers } from '../with-members.js';
import { ClientQuestions } from './client-questions.js';
import { createGateway, type Passed } from './gateway.js';
import { readMessage } from './messages.js';
import type { GatewayEvent } from './pin-event.js';
import type { Pins } from './pins.js';

export type { GatewayEvent } from './pin-event.js';
export { openPins, type Pins, type PinsOptions } from './pins.js';

/** A transport of the official MCP SDK: `Transport` of `@modelcontextprotocol/sdk`, `/client` or `/server`. */
export interface McpTransport {
  start(): Promise<void>;
  // The message types of the SDK's generations differ.
  send(message: never, options?: never): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: never, extra?: never) => void) | undefined;
}

/** Options for guarding a transport. */
export interface GuardTransportOptions {
  /** Approved tool definitions, from `openPins`. Without them definitions are screened but not pinned. */
  readonly pins?: Pins | undefined;
  /** User of the transport: a client, which is guarded from its server (default), or a server, whose clients are. */
  readonly side?: 'client' | 'server' | undefined;
  /** Told of tools that are hidden or denied, and of messages that are dropped. */
  readonly report?: ((event: GatewayEvent) => void) | undefined;
}

type Handler = (message: unknown, extra?: unknown) => void;

/**
 * Puts the MCP gateway into a transport: give the result to `connect` of a client or server in place of the transport. It is
 * the same object in all else. Messages are screened several at once and delivered in their order. Within `guard.inRun` they belong
 * to that run, elsewhere to one of the transport's own.
 *
 * @throws TypeError for an option that does not exist
 *
 * @example
 * ```ts
 * await client.connect(guardTransport(transport, guard));
 * ```
 */
export function guardTransport<T extends McpTransport>(
  transport: T,
  guard: Guard,
  options: GuardTransportOptions = {},
): T {
  checkOptions('guardTransport', options, { pins: true, side: true, report: true });
  const { pins, side = 'client', report = () => {} } = options;
  const session = {};
  const questions = new ClientQuestions();
  const connection = createGateway({ guard, pins, report }).connect(() => session, {
    // Who connects to a server is anyone.
    namesRuns: side === 'client',
    questions: () => questions,
    send(message) {
      if (side === 'client') own.onmessage?.(message);
      else send(message).catch((error: Error) => transport.onerror?.(error));
    },
  });
  const screen = (from: 'client' | 'server', message: unknown): Promise<Passed> =>
    from === 'client' ? connection.screenClient(readMessage(message)) : connection.screenServer(readMessage(message));
  const send = transport.send.bind(transport) as (message: unknown, options?: unknown) => Promise<void>;
  const own: { onmessage: Handler | undefined; onclose: (() => void) | undefined; send: Handler } = {
    onmessage: transport.onmessage as Handler | undefined,
    onclose: transport.onclose,
    send: async (message, options) => {
      const deliver = async ({ forward, reply, failed = [], later }: Passed): Promise<void> => {
        if (reply !== undefined) own.onmessage?.(reply);
        if (forward !== undefined) await send(forward, options);
        for (const each of failed) await send(each);
        later?.then(deliver).catch((error: Error) => transport.onerror?.(error));
      };
      await deliver(await outgoing(screen(side, message)));
    },
  };
  const [incoming, outgoing] = [keepOrder(), keepOrder()];

  async function receive(message: unknown, extra: unknown): Promise<void> {
    const deliver = async ({ forward, reply, failed = [], later }: Passed): Promise<void> => {
      if (forward !== undefined) own.onmessage?.(forward, extra);
      for (const each of failed) own.onmessage?.(each, extra);
      if (reply !== undefined) await send(reply);
      await later?.then(deliver);
    };
    await deliver(await incoming(screen(side === 'client' ? 'server' : 'client', message)));
  }

  transport.onmessage = ((message: unknown, extra: unknown) => {
    receive(message, extra).catch((error: Error) => transport.onerror?.(error));
  }) as NonNullable<T['onmessage']>;
  // After the messages that came before.
  transport.onclose = () => void incoming(Promise.resolve({})).then(() => own.onclose?.());

  return withMembers(transport, own);
}

/** Makes a function that gives the outcome of each screening after those of the earlier ones. */
function keepOrder(): (screening: Promise<Passed>) => Promise<Passed> {
  let last: Promise<unknown> = Promise.resolve();
  return (screening) => {
    const passed = Promise.all([screening, last]).then(([own]) => own);
    last = passed.catch(() => {});
    return passed;
  };
}
