import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';

/** What came back over the wire. */
export interface Answer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** As sent: `Name: value`, in their order. */
  readonly lines: readonly string[];
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts what it reads.
  json(): any;
}

/** A request; `POST /analyze` with a JSON body where nothing else is said. */
export interface Call {
  readonly method?: string;
  readonly path?: string;
  /** A value is sent as its JSON text, a string or bytes as they are, undefined as nothing. */
  readonly body?: unknown;
  readonly key?: string;
  readonly headers?: OutgoingHttpHeaders;
}

const agent = new Agent({ keepAlive: true, maxSockets: 32 });

/** One request over HTTP. */
export function call(
  url: string,
  { method = 'POST', path = '/analyze', body, key, headers = {} }: Call,
): Promise<Answer> {
  const payload = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      url + path,
      {
        agent,
        method,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
          ...(payload === undefined || 'transfer-encoding' in headers
            ? {}
            : { 'content-length': Buffer.byteLength(payload) }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const lines: string[] = [];
          for (let at = 0; at < response.rawHeaders.length; at += 2)
            lines.push(`${response.rawHeaders[at]}: ${response.rawHeaders[at + 1]}`);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Readonly<Record<string, string>>,
            lines,
            body: text,
            json: () => JSON.parse(text),
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(payload);
  });
}

/** Writes bytes as they are on a connection of its own and gives all that comes back until it is closed. */
export function wire(url: string, ...pieces: readonly (string | Buffer | number)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(port), hostname, async () => {
      for (const piece of pieces) {
        if (typeof piece === 'number') await new Promise((next) => setTimeout(next, piece));
        else if (socket.writable) socket.write(piece);
      }
    });
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}
