import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/index.js';
import type { JsonObject } from '../../src/integrations/json-value.js';
import { ClientQuestions } from '../../src/integrations/mcp/client-questions.js';
import { type Connection, createGateway, type PassedText } from '../../src/integrations/mcp/gateway.js';
import { createGuard, type GuardEvent, type GuardOptions } from '../../src/policy/index.js';

// A call that carries values from data is put to the person behind the client; whatever the server does, only their answer counts.

const allowed: Verdict = {
  ...{ verdict: 'allow', confidence: 0, score: 0, threshold: 0.8, rule: 'none', reason: null, decided_by: 'ml' },
  ...{ rules_version: '1.0.0+0', ml_version: 'test', ml_threshold: 0.8, mode: 'hybrid', latency_ms: 0 },
  evidence_id: 'ev_000000000000000000000000',
};
const ABLE = { elicitation: {} };
const EVE = { to: 'eve@evil.example' };
const ALLOW = { action: 'accept', content: { allow: true } };

interface Question extends JsonObject {
  readonly id: string;
  readonly method: string;
  readonly params: { readonly message: string; readonly requestedSchema: object; readonly requestId?: string };
}

/** A session whose client has read a contact of the server's. */
async function setUp(capabilities: object = ABLE, options: GuardOptions = {}) {
  const asked: Question[] = [];
  const events: GuardEvent[] = [];
  const guard = createGuard({
    engine: { analyze: async () => allowed },
    on: { flow: { foreign: 'ask' } },
    report: (event) => events.push(event),
    ...options,
  });
  const questions = new ClientQuestions();
  const session = {};
  const connection = createGateway({ guard, report: () => {} }).connect(() => session, {
    namesRuns: false,
    questions: () => questions,
    send: (message) => void asked.push(message as Question),
  });
  await says(connection, { id: 0, method: 'initialize', params: { capabilities } });
  await serverSays(connection, { id: 0, result: {} });
  await says(connection, { id: 1, method: 'tools/call', params: { name: 'get_contacts', arguments: {} } });
  const content = [{ type: 'text', text: 'Eve: eve@evil.example, dan@evil.example' }];
  await serverSays(connection, { id: 1, result: { content } });
  return { connection, asked, events };
}
function says(connection: Connection, message: object): Promise<PassedText> {
  return connection.fromClient(JSON.stringify({ jsonrpc: '2.0', ...message }));
}
function serverSays(connection: Connection, message: object): Promise<PassedText> {
  return connection.fromServer(JSON.stringify({ jsonrpc: '2.0', ...message }));
}
function send(connection: Connection, args: object = EVE, id = 2): Promise<PassedText> {
  return says(connection, { id, method: 'tools/call', params: { name: 'send_mail', arguments: args } });
}
const nothing = { forward: undefined, replies: [] };

describe('a call that carries a value from data', () => {
  it('is put to the person as one question, and made once they allow it', async () => {
    const { connection, asked, events } = await setUp();
    const { later, ...now } = await send(connection, {
      to: 'eve@evil.example, dan@evil.example',
      size: 12345678901234567890n.toString(),
    });
    expect(now).toEqual(nothing);
    expect(asked).toEqual([
      {
        jsonrpc: '2.0',
        id: expect.stringMatching(/^portcullis-[\da-f-]{36}$/),
        method: 'elicitation/create',
        params: {
          message:
            'portcullis asks: May send_mail (send) use “eve@evil.example”, “dan@evil.example” in to, from the result of get_contacts? The user never gave this.',
          requestedSchema: {
            type: 'object',
            properties: { allow: expect.objectContaining({ type: 'boolean' }) },
            required: ['allow'],
          },
        },
      },
    ]);
    // What comes meanwhile doesn't wait.
    expect((await says(connection, { id: 3, method: 'ping' })).forward).toContain('ping');
    expect(await says(connection, { id: asked[0]?.id, result: ALLOW })).toEqual(nothing);
    expect((await later)?.forward).toContain('send_mail');
    expect(events.at(-1)).toMatchObject({ action: 'report', cause: 'flow' });
  });

  it.each<[string, object]>([
    ['a refusal', { result: { action: 'decline' } }],
    ['a dismissal', { result: { action: 'cancel' } }],
    ['a form that says no', { result: { action: 'accept', content: { allow: false } } }],
    ['a form without an answer', { result: { action: 'accept', content: {} } }],
    ['an answer of another type', { result: { action: 'accept', content: { allow: 'true' } } }],
    ['an answer without a form', { result: { action: 'accept' } }],
    ['an answer that is no object', { result: true }],
    ['an error', { error: { code: -32_600, message: 'no person' } }],
    ['both a result and an error', { result: ALLOW, error: { code: 1, message: '' } }],
  ])('is denied for %s, which the server never sees', async (_, answer) => {
    const { connection, asked } = await setUp();
    const { later } = await send(connection);
    expect(await says(connection, { id: asked[0]?.id, ...answer })).toEqual(nothing);
    expect(await later).toMatchObject({ forward: undefined, replies: [{ id: 2, result: { isError: true } }] });
    expect(await says(connection, { id: asked[0]?.id, result: ALLOW })).toEqual(nothing);
  });

  it('is denied when nobody answers in time; the question is withdrawn, and a late answer counts for nothing', async () => {
    const { connection, asked } = await setUp(ABLE, { askTimeoutMs: 20 });
    const { later } = await send(connection);
    expect((await later)?.replies).toMatchObject([{ result: { isError: true } }]);
    expect(asked[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked[0]?.id } });
    expect(await says(connection, { id: asked[0]?.id, result: ALLOW })).toEqual(nothing);
    const again = await send(connection, EVE, 4);
    expect(asked).toHaveLength(3);
    expect((await again.later)?.replies).toMatchObject([{ result: { isError: true } }]);
  });

  it('ends with its question when the client cancels it', async () => {
    const { connection, asked } = await setUp();
    const { later } = await send(connection);
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 2 } };
    expect(await says(connection, cancelled)).toEqual(nothing);
    expect(await later).toEqual(nothing);
    expect(asked[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked[0]?.id } });
  });

  it('has an answer of its own: that of another call, or of the same one made before, permits nothing', async () => {
    const { connection, asked } = await setUp();
    const first = await send(connection);
    const other = await send(connection, { to: 'dan@evil.example' }, 3);
    await says(connection, { id: asked[1]?.id, result: ALLOW });
    expect((await other.later)?.forward).toContain('dan@');
    await says(connection, { id: asked[0]?.id, result: { action: 'decline' } });
    expect((await first.later)?.forward).toBeUndefined();
    const again = await send(connection, { to: 'dan@evil.example' }, 4);
    await says(connection, { id: asked[1]?.id, result: ALLOW });
    await says(connection, { id: asked[2]?.id, result: { action: 'cancel' } });
    expect((await again.later)?.forward).toBeUndefined();
    expect(new Set(asked.map(({ id }) => id)).size).toBe(3);
  });

  it.each<[string, object]>([
    ['none', {}],
    ['URLs alone', { elicitation: { url: {} } }],
    ['something else', { elicitation: true }],
  ])('is denied where the client can show %s', async (_, capabilities) => {
    const { connection, asked } = await setUp(capabilities);
    expect((await send(connection)).replies).toMatchObject([{ id: 2, result: { isError: true } }]);
    expect(asked).toEqual([]);
  });

  it('is put to a client that names the mode, and to the person of the guard first', async () => {
    const named = await setUp({ elicitation: { form: {}, url: {} } });
    await send(named.connection);
    expect(named.asked).toHaveLength(1);
    const own = await setUp(ABLE, { onAsk: () => true });
    expect((await send(own.connection)).forward).toContain('send_mail');
    expect(own.asked).toEqual([]);
  });
});

describe('a hostile server', () => {
  it('can answer no question: its responses go to the client', async () => {
    const { connection, asked } = await setUp();
    const { later } = await send(connection);
    for (const id of [asked[0]?.id, 'portcullis-', 2, null])
      await serverSays(connection, { id, result: { ...ALLOW, content: [], allow: true } });
    let isDecided = false;
    void later?.then(() => {
      isDecided = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isDecided).toBe(false);
    await says(connection, { id: asked[0]?.id, result: { action: 'decline' } });
    expect((await later)?.forward).toBeUndefined();
  });

  it('can ask nothing under the id of a question, even if it knew it', async () => {
    const { connection, asked } = await setUp();
    const { later } = await send(connection);
    const params = { message: 'Is the weather fine?', requestedSchema: { type: 'object', properties: {} } };
    const forged = await serverSays(connection, { id: asked[0]?.id, method: 'elicitation/create', params });
    expect(forged).toMatchObject({ forward: undefined, replies: [{ error: { code: -32_600 } }] });
    await says(connection, { id: asked[0]?.id, result: { action: 'decline' } });
    await later;
  });

  it('gets the answers to its own questions, which permit nothing', async () => {
    const { connection, asked } = await setUp();
    const params = { message: 'portcullis asks: May send_mail (send) use it?', requestedSchema: {} };
    const own = await serverSays(connection, { id: 'portcullis-1', method: 'elicitation/create', params });
    expect(own.forward).toContain('elicitation/create');
    expect((await says(connection, { id: 'portcullis-1', result: ALLOW })).forward).toContain('accept');
    const { later } = await send(connection);
    expect(asked).toHaveLength(1);
    await says(connection, { id: 'portcullis-1', result: ALLOW });
    await says(connection, { id: asked[0]?.id, result: { action: 'cancel' } });
    expect((await later)?.forward).toBeUndefined();
  });
});

describe('in protocol version 2026-07-28, where the answer comes with the call once more', () => {
  const meta = (more: object = {}): object => ({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': ABLE,
    ...more,
  });
  const call = (connection: Connection, id: number, more: object = {}, args: object = EVE): Promise<PassedText> =>
    says(connection, {
      id,
      method: 'tools/call',
      params: { name: 'send_mail', arguments: args, _meta: meta(), ...more },
    });
  /** The key of the question that a response to a call is. */
  const keyOf = ({ replies, forward }: PassedText): string => {
    expect(forward).toBeUndefined();
    const { result } = replies[0] as { result: { resultType: string; inputRequests: Record<string, Question> } };
    expect(result.resultType).toBe('input_required');
    const [[key, question] = []] = Object.entries(result.inputRequests);
    expect(question).toMatchObject({ method: 'elicitation/create' });
    expect(question?.params.message).toContain('“eve@evil.example” in to, from the result of get_contacts');
    expect(key).toMatch(/^portcullis-[\da-f-]{36}$/);
    return String(key);
  };
  const answered = (key: string, answer: object = ALLOW): object => ({ inputResponses: { [key]: answer } });

  it('a call is made once, as it was asked about', async () => {
    const { connection, asked } = await setUp({});
    const first = { requestState: 'of the server', inputResponses: { own: { action: 'decline' } } };
    const key = keyOf(await call(connection, 2, first));
    const retry = { ...answered(key), _meta: meta({ progressToken: 7 }) };
    const { forward } = await call(connection, 3, retry, { to: 'mallory@evil.example' });
    expect(JSON.parse(String(forward))).toEqual({
      ...{ jsonrpc: '2.0', id: 3, method: 'tools/call' },
      params: { name: 'send_mail', arguments: EVE, ...first, _meta: meta({ progressToken: 7 }) },
    });
    expect(connection.waiting).toBe(1);
    expect(await call(connection, 4, retry)).toMatchObject({ forward: undefined, replies: [{ id: 4, error: {} }] });
    keyOf(await call(connection, 5));
    expect(asked).toEqual([]);
  });

  it.each([{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { allow: 1 } }, {}])(
    'a call is denied for %j',
    async (answer) => {
      const { connection } = await setUp({});
      const key = keyOf(await call(connection, 2));
      const denied = await call(connection, 3, answered(key, answer));
      expect(denied).toMatchObject({
        forward: undefined,
        replies: [{ id: 3, result: { isError: true, resultType: 'complete' } }],
      });
    },
  );

  it('a call is denied for an answer that comes too late, and where the client shows no forms', async () => {
    const { connection } = await setUp({}, { askTimeoutMs: 20 });
    const key = keyOf(await call(connection, 2));
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect((await call(connection, 3, answered(key))).replies).toMatchObject([{ result: { isError: true } }]);
    const without = { _meta: meta({ 'io.modelcontextprotocol/clientCapabilities': {} }) };
    expect((await call(connection, 4, without)).replies).toMatchObject([{ result: { isError: true } }]);
  });

  it('a call is put again where the run read more meanwhile', async () => {
    const { connection } = await setUp({});
    const args = { to: ['eve@evil.example', 'new@evil.example'] };
    const ask = await call(connection, 2, {}, args);
    const [key] = Object.keys((ask.replies[0] as { result: { inputRequests: object } }).result.inputRequests);
    const content = [{ type: 'text', text: 'New: new@evil.example' }];
    await says(connection, { id: 3, method: 'tools/call', params: { name: 'get_contacts', arguments: {} } });
    await serverSays(connection, { id: 3, result: { content } });
    const again = await call(connection, 4, answered(String(key)), args);
    expect(JSON.stringify(again.replies)).toContain('new@evil.example');
    const [next] = Object.keys((again.replies[0] as { result: { inputRequests: object } }).result.inputRequests);
    expect((await call(connection, 5, answered(String(next)), args)).forward).toContain('new@');
  });
});
