import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type AllowedMethods, pathOf } from './allowed-methods.js';

/** An answer that is written to the socket itself, since no request came of what was sent. */
interface RawAnswer {
  readonly status: string;
  readonly error: string;
  readonly allow?: string;
}

const answers: Readonly<Record<string, RawAnswer>> = {
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

/**
 * What Node's HTTP parser refuses, and what Node would answer by itself, gets the answer of every other error: JSON with
 * CORS. Then the connection ends. Gives the handler of `clientError`.
 */
export function refuseConnections(allowed: AllowedMethods): {
  readonly clientError: (error: NodeJS.ErrnoException, socket: Socket) => void;
  watch(server: Server): void;
} {
  /** The newest request of a connection: a client that pipelines is answered in order. */
  const newest = new WeakMap<Socket, { readonly request: IncomingMessage; readonly response: ServerResponse }>();
  return {
    clientError(error, socket) {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      const refuse = (): void => write(socket, answerTo(error, allowed));
      const last = newest.get(socket);
      // The rest of a body that is wrong or late answers its own request; what follows a whole request waits its turn.
      if (last === undefined || !last.request.complete || last.response.writableFinished) refuse();
      else last.response.once('finish', refuse).once('close', () => socket.destroy());
    },
    watch(server) {
      server.on('request', (request, response) => newest.set(request.socket, { request, response }));
      // RFC 9110, 10.1.1: an expectation that isn't understood may be ignored; Node's own 417 has no body.
      server.on('checkExpectation', (request, response) => server.emit('request', request, response));
      server.on('connect', (request, socket) => write(socket as Socket, noSuchMethod(request.url ?? '', allowed)));
    },
  };
}

interface ParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

function answerTo(error: ParseError, allowed: AllowedMethods): RawAnswer {
  if (error.code === 'HPE_INVALID_METHOD') {
    // A method that Node doesn't know is still a method (RFC 9110, 9.1). The packet may hold other requests before it.
    const { rawPacket = Buffer.alloc(0), bytesParsed = 0 } = error;
    const start = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1;
    const line = rawPacket.toString('latin1', start, start + 8192);
    const target = /^[!#$%&'*+.^_`|~\w-]+ (\S+) HTTP\/1\.[01]\r?\n/.exec(line)?.[1];
    if (target !== undefined) return noSuchMethod(target, allowed);
  }
  return answers[error.code ?? ''] ?? { status: '400 Bad Request', error: 'The request is not valid HTTP.' };
}

function noSuchMethod(target: string, allowed: AllowedMethods): RawAnswer {
  const allow = allowed(pathOf(target)).join(', ');
  if (allow === '') return { status: '404 Not Found', error: 'There is nothing at this path.' };
  return { status: '405 Method Not Allowed', error: `This path answers ${allow}.`, allow };
}

function write(socket: Socket, { status, error, allow }: RawAnswer): void {
  const body = JSON.stringify({ error });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nAccess-Control-Allow-Origin: *\r\n` +
      `${allow === undefined ? '' : `Allow: ${allow}\r\n`}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
