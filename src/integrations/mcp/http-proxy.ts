import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http';
import { request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { PortcullisError } from '../../engine/errors.js';
import { isObject, type JsonObject } from '../json-value.js';
import { readEvents, type ServerSentEvent, writeEvent } from '../server-sent-events.js';
import type { Connection, Gateway } from './gateway.js';
import { createHttpSessions, type HttpSessions } from './http-sessions.js';
import { readMessageJson } from './messages.js';
import type { GatewayEvent } from './pin-event.js';
import { errorResponse, INVALID_REQUEST, REFUSED } from './requests.js';
import { write } from './stdio-proxy.js';

export interface HttpOptions {
  readonly gateway: Gateway;
  /** The server's endpoint; the gateway answers at the same path. */
  readonly url: URL;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Added to each request to the server, in place of the client's own of the same name. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  /** All sessions are the guard's own run. Default: each is a run of its own. */
  readonly isOneRun?: boolean | undefined;
  readonly report: (event: Pick<GatewayEvent, 'event' | 'action' | 'reason' | 'from'>) => void;
}

interface Options extends HttpOptions {
  readonly sessions: HttpSessions;
}

/** A request of a client, and its response while it is written. */
interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly connection: Connection;
  readonly options: Options;
}

/** A gateway that listens. */
export interface HttpProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Headers of a request that are for one connection, or that this side writes itself. */
const OWN_HEADERS = (
  'accept-charset accept-encoding connection content-encoding content-length content-type expect host keep-alive ' +
  'origin proxy-authorization te trailer transfer-encoding upgrade'
).split(' ');

/** Headers of a response that a client needs to go on; they are screened. */
const RESPONSE_HEADERS = 'allow mcp-protocol-version mcp-session-id retry-after set-cookie www-authenticate'.split(' ');

const JSON_TYPE = 'application/json; charset=utf-8';
const EVENT_TYPE = 'text/event-stream; charset=utf-8';

/** The request was refused here; its message is for the client. */
class GatewayRefusal extends PortcullisError {
  readonly code = 'GATEWAY_REFUSED';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Starts a gateway in front of a server's streamable HTTP endpoint. @throws where it can't listen */
export async function startHttpProxy(given: HttpOptions): Promise<HttpProxy> {
  const { url, host } = given;
  const options = { ...given, sessions: createHttpSessions() };
  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing, options).catch((error: unknown) => refuse(outgoing, error));
  });
  // A stream of events may be silent for as long as it likes.
  server.requestTimeout = 0;
  // Longer than clients keep a connection that they don't use: one that ends as it is used again is an error to them.
  server.keepAliveTimeout = 65_000;
  await once(server.listen(given.port, host), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}${url.pathname}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function forward(incoming: IncomingMessage, outgoing: ServerResponse, options: Options): Promise<void> {
  checkCaller(incoming, options);
  const { gateway, maxMessageBytes, isOneRun } = options;
  const session = options.sessions.of(incoming);
  const readsEvents = incoming.method === 'POST' && /\btext\/event-stream\b/i.test(incoming.headers.accept ?? '');
  const connection = gateway.connect(isOneRun ? undefined : session.run, {
    namesRuns: false,
    questions: session.questions,
    send: readsEvents ? (message) => void sendEvents(outgoing, [message]) : undefined,
  });
  let body: string | undefined;
  let replies: readonly JsonObject[] = [];
  if (incoming.method === 'POST') {
    if (incoming.headers['content-encoding'] !== undefined)
      throw new GatewayRefusal(415, 'send the message without a content-encoding');
    const text = await readText(incoming, maxMessageBytes, 413, decoderFor(incoming.headers, 415));
    const asked = await connection.fromClient(text);
    const passed = (await asked.later) ?? asked;
    // Nobody waits for a call any more.
    if (outgoing.destroyed) return;
    replies = passed.replies;
    body = passed.forward;
    if (body === undefined) {
      // A refused call is a result as any other; a message that isn't JSON-RPC is a bad request.
      const status = replies.every(({ error, id }) => error !== undefined && id === null) ? 400 : 200;
      if (outgoing.headersSent) await sendEvents(outgoing, replies).then(() => outgoing.end());
      else if (replies.length === 0) outgoing.writeHead(202).end();
      else sendJson(outgoing, status, text.trimStart().startsWith('[') ? replies : replies[0]);
      return;
    }
  }
  const response = await ask(incoming, outgoing, body, options);
  session.answered(response);
  try {
    await answer(response, replies, { incoming, outgoing, connection, options });
  } finally {
    response.destroy();
  }
}

async function answer(response: IncomingMessage, replies: readonly JsonObject[], exchange: Exchange): Promise<void> {
  const { outgoing, connection, options } = exchange;
  const { statusCode = 502 } = response;
  if (statusCode >= 300 && statusCode < 400 && statusCode !== 304)
    throw new GatewayRefusal(502, 'the server redirects to another URL: give that one as --url');
  if (!['', 'identity'].includes(response.headers['content-encoding'] ?? ''))
    throw new GatewayRefusal(502, 'the server compresses its response though it was asked not to');
  const decoder = decoderFor(response.headers, 502);
  const headers = await shownHeaders(response.headers, connection);
  if (/^text\/event-stream\b/i.test(response.headers['content-type'] ?? '')) {
    if (!outgoing.headersSent)
      outgoing.writeHead(statusCode, { ...headers, 'content-type': EVENT_TYPE }).flushHeaders();
    await sendEvents(outgoing, replies);
    await passEvents(readEvents(response, options.maxMessageBytes, decoder), exchange);
    return;
  }
  const text = await readText(response, options.maxMessageBytes, 502, decoder);
  if (outgoing.headersSent) {
    const shown = (await shownMessages(text, connection, true)) ?? '';
    await sendEvents(outgoing, [...replies, ...messagesIn(shown)]);
    outgoing.end();
    return;
  }
  if (text.trim() === '' && replies.length === 0) {
    outgoing.writeHead(statusCode, headers).end();
    return;
  }
  const shown = await shownMessages(text, connection, statusCode < 300);
  if (shown === undefined) {
    const said = await connection.screenText(text);
    outgoing.writeHead(statusCode, { ...headers, 'content-type': 'text/plain; charset=utf-8' }).end(said);
    return;
  }
  const body = replies.length === 0 ? shown : JSON.stringify([...replies, ...messagesIn(shown)]);
  outgoing.writeHead(replies.length === 0 ? statusCode : 200, { ...headers, 'content-type': JSON_TYPE }).end(body);
}

/** @throws GatewayRefusal for a charset that can't be decoded: what another reader would make of it is unknown. */
function decoderFor(headers: IncomingHttpHeaders, status: number): InstanceType<typeof TextDecoder> {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*["']?([^\s;"',]*)/i.exec(headers['content-type'] ?? '') ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    throw new GatewayRefusal(status, 'the message has a charset that is not supported: send UTF-8');
  }
}

async function shownHeaders(headers: IncomingHttpHeaders, connection: Connection): Promise<OutgoingHttpHeaders> {
  const shown: OutgoingHttpHeaders = {};
  for (const name of RESPONSE_HEADERS) {
    const text = [headers[name] ?? []].flat().join('\n');
    if (text !== '' && (await connection.screenText(text, true)) === text) shown[name] = headers[name];
  }
  return shown;
}

/** Refuses web pages of others, also where a name of theirs points at this machine (DNS rebinding). */
function checkCaller(incoming: IncomingMessage, { url, host }: Options): void {
  const path = (incoming.url ?? '').split('?')[0];
  if (path !== url.pathname) throw new GatewayRefusal(404, `the gateway's only path is ${url.pathname}`);
  if (incoming.headers.origin !== undefined) throw new GatewayRefusal(403, 'web pages may not use the gateway');
  const name = (incoming.headers.host ?? '').replace(/:\d+$/, '');
  if (isLoopback(host) && !isLoopback(name))
    throw new GatewayRefusal(403, 'the Host header names another machine than this one');
}

/** Whether an address or name is this machine's own. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** Asks the server; ends the request when the client goes. */
function ask(
  incoming: Pick<IncomingMessage, 'method' | 'headers'>,
  outgoing: ServerResponse | undefined,
  body: string | undefined,
  { url, headers }: Options,
): Promise<IncomingMessage> {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  // Headers that `Connection` names are for this connection alone, too.
  const apart = new Set([...OWN_HEADERS, ...(incoming.headers.connection ?? '').toLowerCase().split(/\s*,\s*/)]);
  const passed = Object.entries(incoming.headers).filter(([name]) => !apart.has(name));
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === 'https:' ? secureRequest : request)(url, {
      method: incoming.method,
      headers: {
        ...Object.fromEntries(passed),
        ...headers,
        'accept-encoding': 'identity',
        ...(bytes === undefined ? {} : { 'content-type': JSON_TYPE, 'content-length': bytes.length }),
      },
    });
    sent.on('response', resolve);
    sent.on('error', (error: NodeJS.ErrnoException) =>
      reject(new GatewayRefusal(502, `the server can't be reached (${error.code ?? 'no reason given'})`)),
    );
    outgoing?.on('close', () => sent.destroy());
    sent.end(bytes);
  });
}

async function passEvents(
  events: AsyncIterable<ServerSentEvent>,
  { incoming, outgoing, connection, options }: Exchange,
): Promise<void> {
  let canResume = false;
  try {
    for await (const { event = 'message', id, retry, data } of events) {
      canResume ||= id !== undefined;
      // Without its data where that is no message, but with its id: a client resumes after it.
      const kept = {
        ...(id !== undefined && /^[\x21-\x7e]*$/.test(id) ? { id } : {}),
        ...(retry !== undefined && /^\d+$/.test(retry) ? { retry } : {}),
      };
      if (data === undefined || data.trim() === '' || (event !== 'message' && event !== '')) {
        await write(outgoing, writeEvent(data?.trim() === '' ? { ...kept, data: '' } : kept));
        continue;
      }
      const { forward: shown, replies, failed = [] } = await connection.fromServer(data);
      // What a request of the server's was refused with goes to it as a message of its own.
      for (const reply of replies) {
        const { 'last-event-id': _, ...headers } = incoming.headers;
        const post = { ...headers, accept: 'application/json, text/event-stream' };
        ask({ method: 'POST', headers: post }, undefined, JSON.stringify(reply), options).then(
          (accepted) => accepted.resume(),
          () => {},
        );
      }
      await write(outgoing, writeEvent(shown === undefined ? kept : { event: 'message', ...kept, data: shown }));
      await sendEvents(outgoing, failed);
    }
    // A client that can't resume would wait for what was dropped.
    if (!canResume) await sendEvents(outgoing, connection.fail('the server ended its stream without a valid response'));
    outgoing.end();
  } catch (error) {
    if (error instanceof RangeError)
      options.report({ event: 'limit', from: 'server', action: 'drop', reason: error.message });
    // The client sees a broken stream, as it would without the gateway.
    outgoing.destroy();
  }
}

/**
 * The messages of a body as they may be shown. Undefined for a body that is none and needn't be one, as that of an error: it
 * may be shown as text. Any other is answered in its place.
 */
async function shownMessages(text: string, connection: Connection, isOk: boolean): Promise<string | undefined> {
  const read = readMessageJson(text);
  const isRpc = (value: unknown): boolean => isObject(value) && ('jsonrpc' in value || 'id' in value);
  if (text.trim() === '') return '';
  if ('json' in read && (isRpc(read.json) || (Array.isArray(read.json) && read.json.some(isRpc)))) {
    const { forward: shown, failed = [] } = await connection.fromServer(text);
    if (failed.length > 0)
      return JSON.stringify(failed.length === 1 && shown === undefined ? failed[0] : [...messagesIn(shown), ...failed]);
    if (shown !== undefined) return shown;
  } else if (!isOk && ('json' in read || !/^[\s\ufeff]*[[{]/.test(text))) return undefined;
  const reason = "the server's response is no valid JSON-RPC";
  const failed = connection.fail(reason);
  return JSON.stringify(
    failed.length > 1 ? failed : (failed[0] ?? errorResponse(null, REFUSED, `portcullis: ${reason}`)),
  );
}

function messagesIn(shown = ''): readonly JsonObject[] {
  return shown === '' ? [] : [JSON.parse(shown) as JsonObject | JsonObject[]].flat();
}

async function readText(
  stream: IncomingMessage,
  maxBytes: number,
  status: number,
  decoder: InstanceType<typeof TextDecoder>,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes)
      throw new GatewayRefusal(status, `a message of more than ${maxBytes} bytes; see --max-message-bytes`);
    chunks.push(chunk);
  }
  return decoder.decode(Buffer.concat(chunks));
}

async function sendEvents(outgoing: ServerResponse, messages: readonly JsonObject[]): Promise<void> {
  if (messages.length > 0 && !outgoing.headersSent) outgoing.writeHead(200, { 'content-type': EVENT_TYPE });
  for (const message of messages)
    await write(outgoing, writeEvent({ event: 'message', data: JSON.stringify(message) }));
}

function sendJson(outgoing: ServerResponse, status: number, value: unknown): void {
  outgoing.writeHead(status, { 'content-type': JSON_TYPE }).end(JSON.stringify(value));
}

function refuse(outgoing: ServerResponse, error: unknown): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    outgoing.destroy();
    return;
  }
  const status = error instanceof GatewayRefusal ? error.status : 502;
  const reason = error instanceof GatewayRefusal ? error.message : 'the exchange with the server failed';
  outgoing.shouldKeepAlive = false;
  sendJson(outgoing, status, errorResponse(null, status === 413 ? INVALID_REQUEST : REFUSED, `portcullis: ${reason}`));
}
