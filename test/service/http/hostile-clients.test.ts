import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { buildApp } from '../../../src/service/http/build-app.js';
import { trustedProxies } from '../../../src/service/http/connections.js';
import { KEY, OTHER_KEY, type TestApp, testApp } from '../test-app.js';

let service: TestApp;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await service.app.close();
});

async function listen(limits: NonNullable<Parameters<typeof buildApp>[0]['limits']>): Promise<void> {
  service = await testApp({ limits });
  await service.app.listen({ port: 0, host: '127.0.0.1' });
}

function port(): number {
  return (service.app.server.address() as { readonly port: number }).port;
}

/** A client that sends bytes and never closes its side; what it receives. */
function stubborn(bytes: string): { readonly text: () => string } {
  let text = '';
  const socket = connect({ port: port(), host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(bytes));
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  sockets.push(socket);
  return { text: () => text };
}

function connections(): Promise<number> {
  return new Promise((resolve, reject) =>
    service.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}

const ask = (key: string, headers: string): string =>
  `POST /analyze HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${headers}\r\n`;
const poll = { timeout: 20_000, interval: 50 };

describe('V1: clients that never close', () => {
  it('lose their places and connections after the 408, and other accounts are served meanwhile', async () => {
    await listen({ requestMs: 1_500, callsAtOnce: 8, callsPerAccount: 4 });
    const clients = Array.from({ length: 12 }, () => stubborn(ask(KEY, 'Content-Length: 100\r\n')));
    await expect.poll(() => clients.filter(({ text }) => text().includes(' 503 ')).length, poll).toBe(8);
    const other = { headers: { authorization: `Bearer ${OTHER_KEY}` } };
    expect((await service.post({ input: 'a' }, other)).statusCode).toBe(200);
    expect((await service.post({ input: 'a' })).json().error).toMatch(/of this account/);
    await expect.poll(() => clients.filter(({ text }) => text().includes(' 408 ')).length, poll).toBe(4);
    await expect.poll(connections, poll).toBe(0);
    await expect.poll(async () => (await service.post({ input: 'a' })).statusCode, poll).toBe(200);
  });

  it.each([
    ['nothing', ''],
    ['a part of the headers', 'POST /analyze HTTP/1.1\r\nHost: a\r\n'],
    ['no HTTP', 'hello\r\n\r\n'],
    ['an unknown method', 'FETCH /analyze HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('lose their connections after %s', async (_name, bytes) => {
    await listen({ requestMs: 400 });
    const clients = Array.from({ length: 10 }, () => stubborn(bytes));
    await expect.poll(() => clients.every(({ text }) => /^HTTP\/1\.1 40[058] /.test(text())), poll).toBe(true);
    await expect.poll(connections, poll).toBe(0);
  });

  it('have no more connections than one address may have', async () => {
    await listen({ requestMs: 60_000, connectionsPerAddress: 5 });
    const clients = Array.from({ length: 8 }, () => stubborn('POST /analyze HTTP/1.1\r\n'));
    await expect.poll(() => clients.filter(({ text }) => text().includes(' 503 ')).length, poll).toBe(3);
    await expect.poll(connections, poll).toBe(5);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(connections, poll).toBe(0);
    const late = stubborn('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    await expect.poll(late.text, poll).toMatch(/^HTTP\/1\.1 200 /);
  });
});

/** A client that reads nothing before all of its body is sent, as Python's http.client does. */
function sendFirst(head: string, body: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port(), '127.0.0.1');
    socket.pause();
    const done = (): void => {
      socket.destroy();
      resolve(text);
    };
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.includes('}')) done();
    });
    socket.on('error', done);
    socket.on('close', done);
    socket.write(head);
    socket.write(body, (error) => (error ? done() : socket.resume()));
  });
}

describe('V2: a body over the limit', () => {
  it.each([
    [1_200_000, 'announced'],
    [3_000_000, 'announced'],
    [10_000_000, 'announced'],
    [10_000_000, 'in chunks'],
  ] as const)('%i bytes, %s: the 413 reaches a client that sends first and reads later', async (bytes, way) => {
    await listen({});
    const body =
      way === 'announced'
        ? Buffer.alloc(bytes, 0x20)
        : Buffer.concat([
            Buffer.from(`${bytes.toString(16)}\r\n`),
            Buffer.alloc(bytes, 0x20),
            Buffer.from('\r\n0\r\n\r\n'),
          ]);
    const length = way === 'announced' ? `Content-Length: ${bytes}` : 'Transfer-Encoding: chunked';
    for (const connection of ['', '', '', 'Connection: close\r\n', 'Connection: close\r\n'])
      expect(await sendFirst(ask(KEY, `${connection}${length}\r\n`), body)).toMatch(/^HTTP\/1\.1 413 .*"error"/s);
  });

  it('is read on up to a bound, and no further', async () => {
    await listen({});
    let sent = 0;
    const socket = connect(port(), '127.0.0.1');
    sockets.push(socket);
    const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(ask(KEY, 'Content-Length: 10000000000\r\n'));
    const piece = Buffer.alloc(1_000_000, 0x20);
    const more = (error?: Error | null): void => {
      // What is written in the callback of a failed write fails at once, in its callback.
      if (error || socket.destroyed || sent > 200_000_000) return;
      sent += piece.length;
      socket.write(piece, more);
    };
    more();
    await ended;
    expect(sent).toBeLessThan(100_000_000);
  });
});

describe('clients that reset the connection', () => {
  /** Sends requests at once, and resets once the service has begun with them. */
  async function resetAfter(bytes: string, begun: () => boolean): Promise<void> {
    const socket = connect(port(), '127.0.0.1', () => socket.write(bytes));
    socket.on('error', () => undefined);
    sockets.push(socket);
    await vi.waitFor(() => expect(begun()).toBe(true));
    socket.resetAndDestroy();
    await vi.waitFor(async () => expect(await connections()).toBe(0));
  }
  const placesTaken = async (): Promise<string | undefined> =>
    /^portcullis_calls_under_way (\d+)$/m.exec((await service.app.inject('/metrics')).body)?.[1];
  const request = (url: string): string => {
    const body = '{"input":"a"}';
    return ask(KEY, `Content-Length: ${body.length}\r\n`).replace('/analyze', url) + body;
  };
  const urls = ['/analyze', '/hooks/claude-code', '/beta/litellm_basic_guardrail_api'];

  it.each(urls)('%s: have no place if they leave while their key is looked up', async (url) => {
    await listen({ callsPerAccount: 1 });
    const { keys, usage } = service.store;
    let find: () => void = () => undefined;
    const looked = vi.spyOn(keys, 'find').mockImplementationOnce(async (secret) => {
      await new Promise<void>((resolve) => {
        find = resolve;
      });
      return keys.find(secret);
    });
    await resetAfter(request(url), () => looked.mock.calls.length > 0);
    const charged = vi.spyOn(usage, 'charge');
    find();
    await vi.waitFor(() => expect(charged).toHaveBeenCalledOnce());
    expect(await placesTaken()).toBe('0');
    expect((await service.post({ input: 'a' })).statusCode).toBe(200);
  });

  it('give back the places of all requests that they sent ahead', async () => {
    await listen({ callsPerAccount: 4 });
    const { usage } = service.store;
    const charged = vi.spyOn(usage, 'charge').mockImplementation(() => new Promise(() => undefined));
    await resetAfter(urls.map(request).join('') + request('/analyze'), () => charged.mock.calls.length === 4);
    charged.mockRestore();
    expect(await placesTaken()).toBe('0');
    expect((await service.post({ input: 'a' })).statusCode).toBe(200);
  });
});

describe('V10: headers', () => {
  const body = '{"input":"a"}';
  const send = async (extra: string): Promise<string> => {
    await listen({ requestMs: 2_000 });
    return sendFirst(ask(KEY, `${extra}Content-Length: ${body.length}\r\n`), Buffer.from(body));
  };

  it.each([
    ['more than 100', 'X-A: 1\r\n'.repeat(100), 431],
    ['a second Host', 'Host: b\r\n', 400],
    ['a second Content-Type', 'content-type: application/json\r\n', 400],
    ['a second header of another name', 'X-A: 1\r\nX-A: 2\r\n', 200],
  ])('%s', async (_name, extra, status) => {
    expect(await send(extra)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});

describe('V3: proxies', () => {
  it.each<[string, string, boolean]>([
    ['loopback', '127.0.0.1', true],
    ['loopback', '::ffff:127.0.0.1', true],
    ['loopback', '::1', true],
    ['loopback', '10.0.0.1', false],
    ['uniquelocal', '10.1.2.3', true],
    ['192.0.2.0/24', '192.0.2.9', true],
    ['192.0.2.0/24', '192.0.3.9', false],
    ['192.0.2.7', '192.0.2.7', true],
    ['2001:db8::/32', '2001:db8::1', true],
    ['loopback', 'not an address', false],
  ])('%s holds %s: %s', (network, address, expected) => {
    expect(trustedProxies([network])?.(address)).toBe(expected);
  });

  it.each(['everyone', '10.0.0.0/33', '10.0.0', '10.0.0.0/', ''])('%j is refused', (network) => {
    expect(trustedProxies([network])).toBeUndefined();
  });

  it.each([
    [undefined, '127.0.0.1', 'http'],
    [['loopback'], '203.0.113.9', 'https'],
    [['192.0.2.1'], '127.0.0.1', 'http'],
  ])('trusting %j, the caller is %s over %s', async (trustProxy, ip, protocol) => {
    service = await testApp({
      trustProxy,
      extend: async (app) => {
        app.get('/who', async (request) => ({ ip: request.ip, protocol: request.protocol }));
      },
    });
    const headers = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
    expect((await service.app.inject({ url: '/who', headers })).json()).toEqual({ ip, protocol });
  });
});
