import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { orderedMap } from '../../engine/limit.js';
import { ClientQuestions } from './client-questions.js';
import type { Connection, Gateway, PassedText } from './gateway.js';
import { idIn } from './messages.js';
import type { GatewayEvent } from './pin-event.js';
import { errorResponse, INTERNAL_ERROR, INVALID_REQUEST } from './requests.js';

/** A server that speaks JSON-RPC on its standard input and output. */
export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

export interface StdioOptions {
  readonly gateway: Gateway;
  readonly server: StdioServer;
  readonly client: { readonly input: Readable; readonly output: Writable };
  /** Resolves when the screener is ready; messages wait for it, and their deadlines begin then. Default: at once. */
  readonly ready?: Promise<unknown> | undefined;
  readonly maxMessageBytes: number;
  readonly report: (event: Pick<GatewayEvent, 'event' | 'action' | 'reason' | 'from'>) => void;
}

/** End of the server; `signal` where one ended it. */
export interface StdioEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StdioSession {
  /** Once the server has ended and all it wrote is delivered. @throws Error where it couldn't be started */
  readonly end: Promise<StdioEnd>;
  kill(signal: NodeJS.Signals): void;
}

/** Messages of one direction that are screened at once. */
const AT_ONCE = 32;
/** Milliseconds for a server to end once its input has, and again after SIGTERM. */
const GRACE_MS = 5_000;

/** Starts a server and stands between it and the client. Its standard error is the caller's own. */
// Long: two directions over one child: what ends one must end the other.
export function startStdioProxy(options: StdioOptions): StdioSession {
  const { gateway, server, client, ready, maxMessageBytes, report } = options;
  const questions = new ClientQuestions();
  const connection = gateway.connect(undefined, {
    namesRuns: true,
    questions: () => questions,
    send: (message) => void write(client.output, `${JSON.stringify(message)}\n`),
  });
  const child = spawn(server.command, [...server.args], { stdio: ['pipe', 'pipe', 'inherit'], env: server.env });
  const { stdin, stdout } = child;
  // A server that closes its input early ends by itself; so does a client.
  stdin.on('error', () => {});
  client.output.on('error', () => stdin.end());

  function tooLong(from: 'client' | 'server', head: string): PassedText {
    const reason = `a message of more than ${maxMessageBytes} bytes; see --max-message-bytes`;
    report({ event: 'limit', from, action: 'drop', reason });
    const id = idIn(head);
    if (from === 'client')
      return { forward: undefined, replies: [errorResponse(id, INVALID_REQUEST, `portcullis: ${reason}`)] };
    if (id === null || /"method"\s*:/.test(head)) return { forward: undefined, replies: [] };
    return { forward: JSON.stringify(errorResponse(id, INTERNAL_ERROR, `portcullis: ${reason}`)), replies: [] };
  }

  /** Passes the lines of one side on in their order. Several are screened at once, as long as the other side takes them. */
  async function pass(
    from: 'client' | 'server',
    source: Readable,
    to: Writable,
    back: Writable,
    screen: (text: string) => Promise<PassedText>,
  ): Promise<void> {
    const work = async ({ text, isWhole }: Line): Promise<PassedText> => {
      await ready;
      return isWhole ? screen(text) : tooLong(from, text);
    };
    const size = { max: 2 * maxMessageBytes, of: ({ text }: Line) => text.length };
    const deliver = async ({ forward, replies, failed = [], later }: PassedText): Promise<void> => {
      for (const reply of replies) await write(back, `${JSON.stringify(reply)}\n`);
      if (forward !== undefined) await write(to, `${forward}\n`);
      for (const each of failed) await write(to, `${JSON.stringify(each)}\n`);
      later?.then(deliver);
    };
    for await (const passed of orderedMap(lines(source, maxMessageBytes), work, { items: AT_ONCE, size }))
      await deliver(passed);
  }

  const upstream = pass('client', client.input, stdin, client.output, (text) => connection.fromClient(text));
  const downstream = pass('server', stdout, client.output, stdin, (text) => connection.fromServer(text));

  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  upstream
    .catch(() => {})
    .then(() => {
      stdin.end();
      return endAfterGrace(child, exited, connection);
    })
    .catch(() => {});
  const end = exited.then(async ([code, signal]) => {
    // What it wrote before it ended.
    await downstream.catch(() => {});
    return { code, signal };
  });
  return { end, kill: (signal) => void child.kill(signal) };
}

/** Ends a server that doesn't when its input has ended, once it owes no response. */
async function endAfterGrace(child: ChildProcess, exited: Promise<unknown>, connection: Connection): Promise<void> {
  const hasEnded = (): Promise<boolean> =>
    Promise.race([exited.then(() => true), setTimeout(GRACE_MS, false, { ref: false })]);
  do if (await hasEnded()) return;
  while (connection.waiting > 0);
  child.kill('SIGTERM');
  if (!(await hasEnded())) child.kill('SIGKILL');
}

/** A line; of one that is too long, its beginning. */
interface Line {
  readonly text: string;
  readonly isWhole: boolean;
}

const NEWLINE = 0x0a;
/** Bytes kept of a line that is too long. */
const HEAD_BYTES = 1_000;

/** The lines of a stream without blank ones. Invalid UTF-8 becomes U+FFFD. */
export async function* lines(stream: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let size = 0;
  let head: string | undefined;
  const take = (): Line | undefined => {
    const line =
      head === undefined
        ? { text: Buffer.concat(parts).toString('utf8').trim(), isWhole: true }
        : { text: head, isWhole: false };
    parts = [];
    size = 0;
    head = undefined;
    return line.text === '' ? undefined : line;
  };
  for await (const chunk of stream) {
    for (let from = 0; from < chunk.length; ) {
      const at = chunk.indexOf(NEWLINE, from);
      const part = chunk.subarray(from, at === -1 ? chunk.length : at);
      size += part.length;
      if (head === undefined) parts.push(part);
      if (size > maxBytes && head === undefined) {
        head = Buffer.concat(parts).subarray(0, HEAD_BYTES).toString('utf8');
        parts = [];
      }
      from += part.length + 1;
      if (at === -1) break;
      const line = take();
      if (line !== undefined) yield line;
    }
  }
  const last = take();
  if (last !== undefined) yield last;
}

/** Resolves once the text is handed on; also when the reader is gone. */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve();
    else stream.write(text, () => resolve());
  });
}
