import { METHODS } from 'node:http';
import { describe, expect, it } from 'vitest';
import { wire } from './call.js';
import { onBothDatabases } from './on-both-databases.js';
import { HARMLESS } from './texts.js';

const MARKER = 'zebra-marker-4711';
const BODY = JSON.stringify({ input: HARMLESS });

/** A request as bytes; the last line says that the connection ends with it. */
const ask = (line: string, headers: readonly string[] = [], body = '') =>
  `${line}\r\nHost: a\r\n${headers.map((it) => `${it}\r\n`).join('')}Connection: close\r\n\r\n${body}`;

/** Status and JSON body of what came back, having its headers asserted. */
const read = (text: string): { readonly status: number; readonly error: string; readonly head: string } => {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head.toLowerCase()).toContain('content-type: application/json');
  expect(head.toLowerCase()).toContain('access-control-allow-origin: *');
  expect(head).not.toMatch(/^retry-after:/im);
  expect(text).not.toContain(MARKER);
  const parsed = JSON.parse(body);
  expect(Object.keys(parsed)).toEqual(['error']);
  return { status: Number(head.slice(9, 12)), error: parsed.error, head };
};

onBothDatabases((service) => {
  describe('every error is JSON, also what Node refuses before there is a request', () => {
    it.each<[string, string, number]>([
      ['a request line that is none', `${MARKER}\r\n\r\n`, 400],
      ['a line of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003', 400],
      ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
      ['a version that is none', `GET /${MARKER} HTTP/9.9\r\n\r\n`, 400],
      ['a header without a name', ask('POST /analyze HTTP/1.1', [`: ${MARKER}`]), 400],
      ['a header with a control character', ask('POST /analyze HTTP/1.1', [`A: ${MARKER}\u0001`]), 400],
      ['a space before the colon', ask('POST /analyze HTTP/1.1', [`Authorization : ${MARKER}`]), 400],
      ['no Host', `GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
      ['headers of 20 kB', ask('POST /analyze HTTP/1.1', [`A: ${MARKER}${'a'.repeat(20_000)}`]), 431],
      ['a path of 20 kB', ask(`GET /${MARKER}${'a'.repeat(20_000)} HTTP/1.1`), 431],
      ['two lengths', ask('POST /analyze HTTP/1.1', ['Content-Length: 1', 'Content-Length: 2'], MARKER), 400],
      [
        'a length and chunks',
        ask('POST /analyze HTTP/1.1', ['Content-Length: 1', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
        400,
      ],
      ['a length that is no number', ask('POST /analyze HTTP/1.1', ['Content-Length: x']), 400],
      ['a negative length', ask('POST /analyze HTTP/1.1', ['Content-Length: -1']), 400],
      ['another coding after the chunks', ask('POST /analyze HTTP/1.1', ['Transfer-Encoding: chunked, gzip']), 400],
      ['a method nobody knows', ask(`${MARKER.toUpperCase()} /analyze HTTP/1.1`), 405],
      ['a method nobody knows, at no path', ask('BREW /pot HTTP/1.1'), 404],
      ['CONNECT to another host', `CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n`, 404],
      ['CONNECT /analyze', 'CONNECT /analyze HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ])('%s', async (_name, bytes, status) => {
      const answer = read(await wire(service().url, Buffer.from(bytes, 'latin1')));
      expect(answer.status).toBe(status);
      if (status === 405) expect(answer.head).toMatch(/^allow: OPTIONS, POST$/im);
    });

    it('chunks that are none: the call gets its 400', async () => {
      const { key } = await service().account();
      const head = ['Content-Type: application/json', `Authorization: Bearer ${key}`, 'Transfer-Encoding: chunked'];
      const text = await wire(service().url, ask('POST /analyze HTTP/1.1', head, `zz\r\n${MARKER}`));
      expect(read(text).status).toBe(400);
    });
  });

  it.each(METHODS.filter((it) => !['POST', 'OPTIONS', 'HEAD', 'CONNECT'].includes(it)))(
    'another method is a 405 with `Allow`: %s',
    async (method) => {
      for (const path of ['/analyze', '/v30/analyze', 'http://other.example/analyze']) {
        const answer = read(await wire(service().url, ask(`${method} ${path} HTTP/1.1`)));
        expect(answer.status).toBe(405);
        expect(answer.head).toMatch(/^allow: OPTIONS, POST$/im);
      }
    },
  );

  it('HEAD is a 405 with `Allow` and without a body', async () => {
    const text = await wire(service().url, ask('HEAD /analyze HTTP/1.1'));
    expect(text).toMatch(/^HTTP\/1.1 405 .*\r\n\r\n$/s);
    expect(text).toMatch(/^allow: OPTIONS, POST\r$/im);
    expect(await wire(service().url, ask('HEAD /healthz HTTP/1.1'))).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n$/s);
  });

  it.each(['/analyze', '/v30/analyze', '/analyze?form=minimal'])(
    'OPTIONS responds to a CORS preflight with 204: %s',
    async (path) => {
      const headers = [
        'Origin: https://app.example',
        'Access-Control-Request-Method: POST',
        'Access-Control-Request-Headers: authorization,content-type',
      ];
      const text = await wire(service().url, ask(`OPTIONS ${path} HTTP/1.1`, headers));
      expect(text).toMatch(/^HTTP\/1.1 204 .*\r\n\r\n$/s);
      expect(text).toMatch(/^access-control-allow-origin: \*\r$/im);
      expect(text).toMatch(/^access-control-allow-methods: OPTIONS, POST\r$/im);
      expect(text).toMatch(/^access-control-allow-headers: Authorization, Content-Type\r$/im);
      expect(text).not.toMatch(/^content-type:/im);
    },
  );

  it.each([
    '/',
    '/analyze/',
    '//analyze',
    '/ANALYZE',
    '/Analyze',
    '/v30',
    '/v30/analyze/x',
    '/v31/analyze',
    '/analyze%00',
    '/analyze;a',
    '/./analyze',
    '*',
  ])('an unknown path is a 404: POST %s', async (path) => {
    expect(read(await wire(service().url, ask(`POST ${path} HTTP/1.1`, ['Content-Length: 0']))).status).toBe(
      path === '/' ? 405 : 404,
    );
  });

  it.each([
    ['PUT', '/analyze', 405],
    ['DELETE', '/v30/analyze', 405],
    ['POST', '/healthz', 405],
    ['POST', '/nowhere', 404],
    ['GET', '/nowhere', 404],
  ])('an unknown path is refused whatever the body is: %s %s', async (method, path, status) => {
    for (const body of ['{', 'text', 'x'.repeat(2_000_000)])
      for (const type of ['application/json', 'text/plain'])
        expect((await service().call({ method, path, body, headers: { 'content-type': type } })).status).toBe(status);
  });

  it('the same call in other spellings is the same call', async () => {
    const { key } = await service().account();
    const head = (authorization: string) => [
      authorization,
      'Content-Type: application/json',
      `Content-Length: ${BODY.length}`,
    ];
    const url = service().url;
    const calls = [
      ask('POST /analyze HTTP/1.1', head(`Authorization: Bearer ${key}`), BODY),
      ask('POST /analyze HTTP/1.1', head(`AUTHORIZATION: bearer  ${key}`), BODY),
      ask('POST http://other.example/analyze HTTP/1.1', head(`authorization: BEARER ${key} `), BODY),
      ask('POST /%61nalyze?form=extended# HTTP/1.1'.replace('#', ''), head(`Authorization: Bearer ${key}`), BODY),
      ask('POST /analyze HTTP/1.1', [...head(`Authorization: Bearer ${key}`), 'Expect: 100-continue'], BODY),
      ask('POST /analyze HTTP/1.1', [...head(`Authorization: Bearer ${key}`), 'Expect: the-unexpected'], BODY),
      ask('POST /analyze HTTP/1.1', [...head(`Authorization: Bearer ${key}`), 'Upgrade: websocket'], BODY),
      `POST /analyze HTTP/1.0\r\n${head(`Authorization: Bearer ${key}`).join('\r\n')}\r\n\r\n${BODY}`,
    ];
    for (const bytes of calls) expect(await wire(url, bytes)).toMatch(/HTTP\/1.1 200 /);
  });

  it('a body in pieces and chunks is the same body; two Authorization headers name nobody', async () => {
    const { key } = await service().account();
    const start = `POST /analyze HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer ${key}\r\n`;
    const pieces = [...BODY].flatMap((char) => [`1\r\n${char}\r\n`]);
    const chunked = await wire(
      service().url,
      `${start}Transfer-Encoding: chunked\r\n\r\n`,
      ...pieces,
      '0\r\nTrailer: x\r\n\r\n',
    );
    expect(chunked).toMatch(/^HTTP\/1.1 200 /);
    const twice = await wire(
      service().url,
      `${start}authorization: Bearer ${key}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    );
    expect(read(twice).status).toBe(401);
  });

  it('calls in a pipeline are answered in order, and what is wrong behind them after them', async () => {
    const { key } = await service().account();
    const one = (form: string) =>
      `POST /analyze?form=${form} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
    const text = await wire(
      service().url,
      `${one('minimal')}${one('extended')}GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n${one('wrong')}${MARKER}\r\n\r\n`,
    );
    expect([...text.matchAll(/HTTP\/1.1 (\d+) /g)].map(([, status]) => status)).toEqual([
      '200',
      '200',
      '404',
      '400',
      '400',
    ]);
    expect(text.indexOf('"score"')).toBeGreaterThan(text.lastIndexOf('"latency_ms"') - 300);
    expect(text).toContain('The request is not valid HTTP.');
    expect(text).not.toContain(MARKER);
  });
});
