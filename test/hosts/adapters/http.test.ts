import type { AddressInfo } from 'node:net';
import express5 from 'express';
// @ts-expect-error: there are types of Express 5 alone
import express4 from 'express-4';
import fastify from 'fastify';
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { guardExpress, guardFastify, guardHono, type RouteOptions } from '../../../src/integrations/http/index.js';
import { createGuard, type Guard } from '../../../src/policy/index.js';
import { ATTACK, BENIGN, broken, counting, hanging, MIXED, matrix } from './matrix.js';

interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}
type Post = (guard: Guard, body: unknown, options?: RouteOptions) => Promise<Reply>;

const json = { 'content-type': 'application/json' };

const postExpress =
  (express: typeof express5): Post =>
  async (guard, body, options) => {
    const app = express();
    app.use(express.json());
    app.post('/chat', guardExpress(guard, options), (request, response) => {
      response.json({ got: request.body });
    });
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat`;
    const reply = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) });
    const answer = { status: reply.status, body: (await reply.json()) as Reply['body'] };
    server.closeAllConnections();
    server.close();
    return answer;
  };
const postHono: Post = async (guard, body, options) => {
  const app = new Hono().post('/chat', guardHono(guard, options), async (context) =>
    context.json({ got: await context.req.json() }),
  );
  const reply = await app.request('/chat', { method: 'POST', headers: json, body: JSON.stringify(body) });
  return { status: reply.status, body: (await reply.json()) as Reply['body'] };
};
const postFastify: Post = async (guard, body, options) => {
  const app = fastify();
  app.post('/chat', { preHandler: guardFastify(guard, options) }, async (request) => ({ got: request.body }));
  const reply = await app.inject({ method: 'POST', url: '/chat', headers: json, payload: JSON.stringify(body) });
  return { status: reply.statusCode, body: reply.json() };
};

const rules = (options: Parameters<typeof createGuard>[0] = {}) => createGuard({ engine: counting(), ...options });
const NO_TOOLS = 'no: a route has no tools';

for (const [label, name, post] of [
  ['Express 5', 'express', postExpress(express5)],
  ['Express 4', 'express-4', postExpress(express4 as typeof express5)],
  ['Hono', 'hono', postHono],
  ['Fastify', 'fastify', postFastify],
] as const) {
  matrix(label, name, {
    async 'clean run'() {
      expect(await post(rules(), { input: BENIGN, id: 1 })).toEqual({
        status: 200,
        body: { got: { input: BENIGN, id: 1 } },
      });
    },
    async 'user text'() {
      const { status, body } = await post(rules(), { input: ATTACK });
      expect(status).toBe(422);
      expect(body).toEqual({
        error: 'blocked',
        reason: expect.any(String),
        rule: expect.any(String),
        evidence_id: expect.stringMatching(/^ev_[0-9a-f]{24}$/),
        run_id: expect.stringMatching(/^run_/),
      });
      expect((await post(rules({ on: { user: 'throw' } }), { input: ATTACK })).status).toBe(422);
      expect((await post(rules(), { message: { text: ATTACK } }, { field: 'message.text' })).status).toBe(422);
      expect((await post(rules(), { other: ATTACK })).body.error).toBe('missing_input');
      expect((await post(rules(), { other: 1 }, { optional: true })).status).toBe(200);
    },
    'tool result': NO_TOOLS,
    'failed tool': NO_TOOLS,
    'tool argument': NO_TOOLS,
    'tool definition': NO_TOOLS,
    streaming: 'no: a request is read whole',
    async 'engine error'() {
      expect((await post(createGuard({ engine: broken }), { input: BENIGN })).status).toBe(422);
      expect((await post(createGuard({ engine: broken, onError: 'allow' }), { input: BENIGN })).status).toBe(200);
    },
    async timeout() {
      const { status, body } = await post(createGuard({ engine: hanging, timeoutMs: 20 }), { input: BENIGN });
      expect([status, body.reason]).toEqual([422, 'The text could not be screened in time.']);
    },
    async redact() {
      const guard = rules({ on: { user: 'redact' } });
      const { body } = await post(guard, { message: { text: MIXED }, id: 1 }, { field: 'message.text' });
      expect(body.got).toMatchObject({ id: 1, message: { text: expect.stringContaining(`${BENIGN} [removed]`) } });
    },
    async 'cache hit'() {
      const engine = counting();
      const guard = createGuard({ engine });
      for (let call = 0; call < 3; call += 1) await post(guard, { input: BENIGN });
      expect(engine.asked.length).toBe(1);
    },
    abort: 'no: the deadline holds',
  });
}

it('Express without a body parser refuses', async () => {
  const answers: unknown[] = [];
  const response = {
    status: (code: number) => ({ json: (body: { error: string }) => answers.push([code, body.error]) }),
  };
  await guardExpress(rules())({}, response as never, () => answers.push('passed'));
  expect(answers).toEqual([[422, 'missing_input']]);
});

it.each([
  ['reads', (raw: Request) => raw.json()],
  ['forwards', (raw: Request) => new Request('http://upstream.test/', raw).json()],
])('a route of Hono %s the raw request after the guard, redacted or not', async (_, read) => {
  const app = new Hono().post('/chat', guardHono(rules({ on: { user: 'redact' } })), async ({ req, json }) =>
    json({ got: await read(req.raw), length: req.header('content-length') }),
  );
  for (const [input, got] of [
    [BENIGN, BENIGN],
    [MIXED, expect.stringContaining(`${BENIGN} [removed]`)],
  ]) {
    const body = JSON.stringify({ input });
    const headers = input === MIXED ? { 'content-length': String(body.length) } : {};
    const reply = await app.request('/chat', { method: 'POST', headers, body });
    expect(await reply.json()).toEqual({ got: { input: got } });
  }
});

it('a body that another middleware of Hono has read is screened', async () => {
  const app = new Hono()
    .use(async ({ req }, next) => {
      await req.json();
      await next();
    })
    .post('/chat', guardHono(rules()), (context) => context.text('passed'));
  for (const [input, status] of [
    [BENIGN, 200],
    [ATTACK, 422],
  ] as const) {
    const reply = await app.request('/chat', { method: 'POST', body: JSON.stringify({ input }) });
    expect(reply.status).toBe(status);
  }
});

it.each([
  ['guardExpress', guardExpress],
  ['guardHono', guardHono],
  ['guardFastify', guardFastify],
])('%s refuses an option that does not exist', (name, guardRoute) => {
  const options = { feild: 'text' } as object;
  expect(() => guardRoute(rules(), options)).toThrow(`${name} has no option feild`);
});

it('one line makes a request a run, as the page says', async () => {
  const guard = rules();
  const call = { name: 'send_mail', arguments: { to: 'carl@shop.example' } };
  /** Whether a value of a result may be sent: only where the user of this request gave it. */
  const answer = async (): Promise<string> => {
    await guard.screen('tool_result', 'Ask carl@shop.example.', { tool: 'search_mail' });
    return (await guard.screen('tool_call', call)).action;
  };
  const prompts = ['Write to carl@shop.example.', BENIGN];
  const hono = new Hono();
  hono.use((_, next) => guard.inRun(next));
  hono.post('/', guardHono(guard), async (context) => context.text(await answer()));
  const fast = fastify();
  fast.addHook('preHandler', (_request, _reply, done) => guard.inRun(done));
  fast.post('/', { preHandler: guardFastify(guard) }, answer);
  const express = express5();
  express.use(express5.json());
  express.use((_request, _response, next) => guard.inRun(next));
  express.post('/', guardExpress(guard), async (_request, response) => void response.send(await answer()));
  const server = express.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  for (const [at, input] of prompts.entries()) {
    const request = { method: 'POST', headers: json, body: JSON.stringify({ input }) } as const;
    const answers = [
      await (await hono.request('/', request)).text(),
      (await fast.inject({ method: 'POST', url: '/', headers: json, payload: request.body })).body,
      await (await fetch(`http://127.0.0.1:${port}/`, request)).text(),
    ];
    expect(answers).toEqual(Array(3).fill(['allow', 'report'][at]));
  }
  server.closeAllConnections();
  server.close();
});
