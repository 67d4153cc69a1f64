import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { toNetwork, withoutMapping } from '../../dashboard/client-network.js';
import { createKeyedLimit } from '../../engine/limit.js';
import { type AllowedMethods, dropQuery } from './http-error.js';

/** A response that is written to the socket itself, since no request came of what was sent. */
interface RawResponse {
  readonly status: string;
  readonly error: string;
  readonly allow?: string;
}

const RESPONSES: Readonly<Record<string, RawResponse>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: 'The headers are larger than this service reads.',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: '413 Payload Too Large',
    error: 'The chunk extensions are larger than this service reads.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', error: 'The request did not arrive in time.' },
};

const TOO_MANY: RawResponse = {
  status: '503 Service Unavailable',
  error: 'Too many connections are open from this address; close some and try again.',
};

/** Time for a refused connection to read its response and close, milliseconds. */
const LINGER_MS = 500;

export interface ConnectionLimits {
  /** Open connections of one address (IPv6: one /64 network). */
  readonly perAddress: number;
  /** True for an address that many clients share, such as a reverse proxy: `perAddress` doesn't apply to it. */
  readonly isProxy: (address: string) => boolean;
}

/**
 * Refuses connections: those over the limit of their address, and those whose bytes Node's HTTP parser refuses. The
 * latter get the response of every other error, JSON with CORS. A refused connection is destroyed soon after its
 * response, whether or not the client closes it. Gives the handler of `clientError`.
 */
export function refuseConnections(
  allowed: AllowedMethods,
  { perAddress, isProxy }: ConnectionLimits,
): {
  readonly clientError: (error: NodeJS.ErrnoException, socket: Socket) => void;
  watch(server: Server): void;
} {
  /** The newest request of a connection: a client that pipelines is answered in order. */
  const newest = new WeakMap<Socket, { readonly request: IncomingMessage; readonly response: ServerResponse }>();
  const refused = new WeakSet<Socket>();
  const open = createKeyedLimit(perAddress);

  function refuse(socket: Socket, response: RawResponse): void {
    if (refused.has(socket)) return;
    refused.add(socket);
    socket.end(format(response));
    // A close with unread bytes resets the connection, and the response may be lost (RFC 9112, 9.6). What is late isn't read on.
    if (response === RESPONSES.ERR_HTTP_REQUEST_TIMEOUT) socket.pause();
    else socket.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  function admit(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    if (isProxy(address)) return;
    const leave = open.enter(toNetwork(address));
    if (leave === undefined) {
      socket.write(format(TOO_MANY));
      socket.destroySoon();
    } else socket.once('close', leave);
  }

  return {
    clientError(error, socket) {
      // What a refused client sends on is no HTTP either; its connection ends by itself.
      if (refused.has(socket) && socket.writableEnded) return;
      const last = newest.get(socket);
      const isAnswered = last !== undefined && !last.request.complete && last.response.headersSent;
      if (error.code === 'ECONNRESET' || !socket.writable || isAnswered) {
        socket.destroy();
        return;
      }
      const end = (): void => refuse(socket, responseTo(error, allowed));
      // The rest of a body that is wrong or late ends its own request; what follows a whole request waits its turn.
      if (last === undefined || !last.request.complete || last.response.writableFinished) end();
      else last.response.once('finish', end).once('close', () => socket.destroy());
    },
    watch(server) {
      server.prependListener('connection', admit);
      server.on('request', (request, response) => {
        newest.set(request.socket, { request, response });
        if (response.socket === null) closeWithSocket(request.socket, response);
      });
      // RFC 9110, 10.1.1: an expectation that isn't understood may be ignored; Node's own 417 has no body.
      server.on('checkExpectation', (request, response) => server.emit('request', request, response));
      server.on('connect', (request, socket) => refuse(socket as Socket, noSuchMethod(request.url ?? '', allowed)));
    },
  };
}

/** Closes a response that waits behind others of its connection: when the connection is lost, Node closes only the one being sent. */
function closeWithSocket(socket: Socket, response: ServerResponse): void {
  const close = (): void => {
    response.destroy();
    response.emit('close');
  };
  // A client may send any number of requests ahead.
  socket.setMaxListeners(0).once('close', close);
  response.once('socket', () => socket.off('close', close));
}

/**
 * Reads on where a response leaves before the request's body was read, so that a client which sends first and reads later
 * gets the response and not a reset. Beyond `maxBytes` the connection is destroyed. Call it before the headers are sent.
 */
export function drainBody(request: IncomingMessage, response: ServerResponse, maxBytes: number): void {
  const { socket } = request;
  const closes = !response.shouldKeepAlive;
  // Node would destroy the connection together with the response.
  response.shouldKeepAlive = true;
  let left = maxBytes;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  if (closes)
    request.once('end', () => (response.writableFinished ? socket.end() : response.once('finish', () => socket.end())));
}

const NAMED_NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/**
 * Whether an address is that of a trusted proxy.
 *
 * @param networks addresses, networks in CIDR notation, `loopback`, `linklocal`, `uniquelocal`
 * @returns undefined where one of them is none of these
 */
export function trustedProxies(networks: readonly string[]): ((address: string) => boolean) | undefined {
  const list = new BlockList();
  for (const network of networks.flatMap((name) => NAMED_NETWORKS[name] ?? [name])) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address);
    const longest = family === 4 ? 32 : 128;
    if (family === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= longest))) return undefined;
    list.addSubnet(address, Number(bits ?? longest), family === 4 ? 'ipv4' : 'ipv6');
  }
  return (address) => {
    const plain = withoutMapping(address);
    const family = isIP(plain);
    return family !== 0 && list.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  };
}

interface ParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

function responseTo(error: ParseError, allowed: AllowedMethods): RawResponse {
  if (error.code === 'HPE_INVALID_METHOD') {
    // A method that Node doesn't know is still a method (RFC 9110, 9.1). The packet may hold other requests before it.
    const { rawPacket = Buffer.alloc(0), bytesParsed = 0 } = error;
    const start = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1;
    const line = rawPacket.toString('latin1', start, start + 8192);
    const target = /^[!#$%&'*+.^_`|~\w-]+ (\S+) HTTP\/1\.[01]\r?\n/.exec(line)?.[1];
    if (target !== undefined) return noSuchMethod(target, allowed);
  }
  return RESPONSES[error.code ?? ''] ?? { status: '400 Bad Request', error: 'The request is not valid HTTP.' };
}

function noSuchMethod(target: string, allowed: AllowedMethods): RawResponse {
  const allow = allowed(dropQuery(target)).join(', ');
  if (allow === '') return { status: '404 Not Found', error: 'There is nothing at this path.' };
  return { status: '405 Method Not Allowed', error: `This path answers ${allow}.`, allow };
}

function format({ status, error, allow }: RawResponse): string {
  const body = JSON.stringify({ error });
  return (
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nAccess-Control-Allow-Origin: *\r\n` +
    `${allow === undefined ? '' : `Allow: ${allow}\r\n`}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
}

const disconnects = new WeakMap<Socket, AbortSignal>();

/** Aborted once the connection of a request is closed: nobody waits for its response any more. One for all requests of a connection. */
export function disconnectSignal({ socket }: Pick<FastifyRequest, 'socket'>): AbortSignal {
  const known = disconnects.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  if (socket.destroyed) controller.abort();
  else socket.once('close', () => controller.abort());
  disconnects.set(socket, controller.signal);
  return controller.signal;
}
