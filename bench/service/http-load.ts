import { connect, type Socket } from 'node:net';

/** What a load did. Times in milliseconds. */
export interface LoadResult {
  readonly answers: number;
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Connections that broke while they waited for an answer. */
  readonly broken: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** A load of closed loops: each connection asks again when its answer is there. */
export interface LoadOptions {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the n-th request. */
  readonly body: (n: number) => string;
  readonly connections: number;
  /** Ends after this time, */
  readonly ms?: number | undefined;
  /** after so many requests, */
  readonly requests?: number | undefined;
  /** or when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Told of each whole answer; `head` has its status line and headers. */
  readonly onAnswer?: ((status: number, body: string, head: string, n: number) => void) | undefined;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');

/** Loads a server over plain sockets: a client that parses less costs the machine less. */
export async function httpLoad(options: LoadOptions): Promise<LoadResult> {
  const { hostname, port } = new URL(options.url);
  const head =
    `POST ${options.path} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\n` +
    Object.entries(options.headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
  const statuses = new Map<number, number>();
  const times: number[] = [];
  const started = performance.now();
  const until = options.ms === undefined ? Number.POSITIVE_INFINITY : started + options.ms;
  const most = options.requests ?? Number.POSITIVE_INFINITY;
  let sent = 0;
  let broken = 0;

  const loop = (): Promise<void> =>
    new Promise((resolve) => {
      const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true });
      let kept: Buffer = Buffer.alloc(0);
      let at = 0;
      let n = 0;
      let waits = false;
      const ask = (): void => {
        if (sent >= most || performance.now() >= until || options.signal?.aborted) {
          waits = false;
          socket.end();
          return;
        }
        n = sent++;
        const body = options.body(n);
        at = performance.now();
        waits = true;
        socket.write(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      };
      socket.on('connect', ask);
      socket.on('data', (chunk: Buffer) => {
        kept = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
        const end = kept.indexOf(END_OF_HEAD);
        if (end < 0) return;
        const text = kept.toString('latin1', 0, end);
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
        if (kept.length < end + 4 + length) return;
        const status = Number(text.slice(9, 12));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        times.push(performance.now() - at);
        options.onAnswer?.(status, kept.toString('utf8', end + 4), text, n);
        kept = Buffer.alloc(0);
        ask();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        if (waits) broken++;
        resolve();
      });
    });

  await Promise.all(Array.from({ length: options.connections }, loop));
  const sorted = Float64Array.from(times).sort();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return {
    answers: times.length,
    statuses,
    broken,
    seconds: (performance.now() - started) / 1000,
    p50: at(0.5),
    p99: at(0.99),
    max: sorted.at(-1) ?? 0,
  };
}
