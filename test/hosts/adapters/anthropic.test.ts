import Anthropic from '@anthropic-ai/sdk';
import { afterEach, expect, it } from 'vitest';
import { guardMiddleware } from '../../../src/integrations/anthropic/index.js';
import { createGuard, type Guard, guardFunction } from '../../../src/policy/index.js';
import { messagesApi } from '../messages-api.js';
import { ATTACK, BENIGN, broken, counting, hanging, MIXED, matrix } from './matrix.js';

const rules = (options: Parameters<typeof createGuard>[0] = {}) => createGuard({ engine: counting(), ...options });
const open: { close(): void }[] = [];
afterEach(() => {
  for (const api of open.splice(0)) api.close();
});

const setUp = async (guard: Guard) => {
  const api = await messagesApi(['done'], true);
  open.push(api);
  const client = new Anthropic({ apiKey: 'x', baseURL: api.url, middleware: [guardMiddleware(guard)] });
  const ask = (messages: Anthropic.MessageParam[], extra: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) =>
    client.messages.create({ model: 'mock-model', max_tokens: 10, messages, ...extra });
  return { client, ask, requests: api.requests, sent: () => JSON.stringify(api.requests) };
};
const textOf = ({ content }: Anthropic.Message): string => (content[0] as Anthropic.TextBlock).text;
const toolResult = (
  content: Anthropic.ToolResultBlockParam['content'] & {},
  is_error = false,
): Anthropic.MessageParam[] => [
  { role: 'user', content: 'Read my mail.' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'mail', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content, is_error }] },
];

matrix('@anthropic-ai/sdk', '@anthropic-ai/sdk', {
  async 'clean run'() {
    const { ask, requests } = await setUp(rules());
    expect(textOf(await ask(toolResult(BENIGN)))).toBe('done');
    expect(requests[0]!.messages).toEqual(toolResult(BENIGN));
  },
  async 'user text'() {
    const { ask, requests } = await setUp(rules());
    const refused = await ask([{ role: 'user', content: ATTACK }]);
    expect([refused.stop_reason, textOf(refused)]).toEqual(['refusal', expect.stringMatching(/^\[refused by .*ev_/)]);
    const throwing = await setUp(rules({ on: { user: 'throw' } }));
    await expect(throwing.ask([{ role: 'user', content: ATTACK }])).rejects.toMatchObject({
      name: 'PortcullisBlocked',
    });
    expect([...requests, ...throwing.requests]).toEqual([]);
  },
  async 'tool result'() {
    const { ask, sent, requests } = await setUp(rules());
    await ask(toolResult(ATTACK));
    await ask(toolResult([{ type: 'text', text: ATTACK }]));
    const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: ATTACK } } as const;
    await ask([{ role: 'user', content: [document, { type: 'text', text: 'Sum it up.' }] }]);
    expect(requests.length).toBe(3);
    for (const request of requests) expect(JSON.stringify(request)).toContain('removed by portcullis');
    expect(sent()).not.toContain('Ignore all');
    const stopping = await setUp(rules({ on: { tool_result: 'stop' } }));
    expect([(await stopping.ask(toolResult(ATTACK))).stop_reason, stopping.requests.length]).toEqual(['refusal', 0]);
  },
  async 'failed tool'() {
    const { ask, sent } = await setUp(rules());
    await ask(toolResult(`Error: ${ATTACK}`, true));
    expect(sent()).toContain('removed by portcullis');
    expect(sent()).not.toContain('Ignore all');
  },
  async 'tool argument'() {
    let ran = 0;
    const send = guardFunction(rules(), 'mail', async (_: { body: string }) => {
      ran += 1;
      return 'sent';
    });
    await expect(send({ body: ATTACK })).rejects.toThrow('denied by portcullis');
    expect([await send({ body: BENIGN }), ran]).toEqual(['sent', 1]);
  },
  async 'tool definition'() {
    const { ask, requests } = await setUp(rules());
    const input_schema = { type: 'object' as const, properties: {} };
    const tools = [
      { name: 'mail', description: ATTACK, input_schema },
      { name: 'clock', description: 'Tells the time.', input_schema },
    ];
    await ask([{ role: 'user', content: 'Hello' }], { tools });
    expect(requests[0]!.tools!.map(({ name }) => name)).toEqual(['clock']);
  },
  async streaming() {
    const { client, requests } = await setUp(rules());
    const params = { model: 'mock-model', max_tokens: 10, messages: [{ role: 'user' as const, content: ATTACK }] };
    const message = await client.messages.stream(params).finalMessage();
    expect([message.stop_reason, textOf(message)]).toEqual([
      'refusal',
      expect.stringContaining('refused by portcullis'),
    ]);
    const allowed = client.messages.stream({ ...params, messages: [{ role: 'user', content: 'Hello' }] });
    expect(await allowed.finalText()).toBe('done');
    expect(requests.length).toBe(1);
  },
  async 'engine error'() {
    const closed = await setUp(createGuard({ engine: broken }));
    expect((await closed.ask([{ role: 'user', content: 'Hello' }])).stop_reason).toBe('refusal');
    expect(closed.requests).toEqual([]);
    const allowing = await setUp(createGuard({ engine: broken, onError: 'allow' }));
    expect(textOf(await allowing.ask([{ role: 'user', content: 'Hello' }]))).toBe('done');
  },
  async timeout() {
    const { ask, requests } = await setUp(createGuard({ engine: hanging, timeoutMs: 20 }));
    expect(textOf(await ask([{ role: 'user', content: 'Hello' }]))).toContain('could not be screened in time');
    expect(requests).toEqual([]);
  },
  async redact() {
    const { ask, sent } = await setUp(rules({ on: { tool_result: 'redact' } }));
    await ask(toolResult(MIXED));
    expect(sent()).toContain(`${BENIGN} [removed]`);
    expect(sent()).not.toContain('Ignore all');
  },
  async 'cache hit'() {
    const engine = counting();
    const { ask } = await setUp(createGuard({ engine }));
    const history: Anthropic.MessageParam[] = [{ role: 'user', content: 'Read my mail.' }];
    for (let step = 0; step < 10; step += 1) {
      await ask(history);
      history.push(...toolResult(`${BENIGN} ${step}`).slice(1));
    }
    expect(engine.twice()).toEqual([]);
    // The task and nine results, and the eight joints between two of them.
    expect(engine.asked.length).toBe(18);
  },
  async abort() {
    const { client, requests } = await setUp(createGuard({ engine: hanging }));
    const params = { model: 'mock-model', max_tokens: 10, messages: [{ role: 'user' as const, content: 'Hello' }] };
    await expect(client.messages.create(params, { signal: AbortSignal.timeout(20) })).rejects.toThrow();
    expect(requests).toEqual([]);
  },
});

it('a refused text of an earlier turn becomes the note, and later turns go on', async () => {
  const past: Anthropic.MessageParam[] = [
    { role: 'user', content: ATTACK },
    { role: 'assistant', content: 'I was stopped.' },
    { role: 'user', content: [{ type: 'text', text: BENIGN }] },
  ];
  for (const on of [{}, { user: 'throw' }] as const) {
    const { ask, requests } = await setUp(rules({ on }));
    expect(textOf(await ask(past))).toBe('done');
    expect(requests[0]!.messages).toEqual([
      { role: 'user', content: expect.stringMatching(/^\[refused by portcullis/) },
      ...past.slice(1),
    ]);
  }
  // Results of tools go on with the turn of the text before them.
  const { ask, requests } = await setUp(rules());
  const [, ...rest] = toolResult(BENIGN);
  expect((await ask([{ role: 'user', content: ATTACK }, ...rest])).stop_reason).toBe('refusal');
  expect(requests).toEqual([]);
});

it.each(['/v1/messages', '/v1/projects/p/models/m:rawPredict', '/model/m/invoke', '/v1/messages/batches'])(
  'messages are screened whatever their path: %s',
  async (path) => {
    const params = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: ATTACK }] };
    const body = path.endsWith('batches') ? { requests: [{ custom_id: 'a', params }] } : params;
    const asked = guardMiddleware(rules())({ url: `http://provider.test${path}`, body }, () => {
      throw new Error('the call was made');
    });
    expect(JSON.stringify(await (await asked).json())).toContain('refused by portcullis');
  },
);

it('a document of a message is screened with its title and context; its blocks keep their order', async () => {
  const { ask, requests } = await setUp(rules());
  const source = { type: 'text', media_type: 'text/plain', data: BENIGN } as const;
  const content: Anthropic.ContentBlockParam[] = [
    { type: 'text', text: 'First.' },
    { type: 'document', title: ATTACK, context: 'A letter.', source },
    { type: 'text', text: 'Second.' },
  ];
  await ask([{ role: 'user', content }]);
  const shown = structuredClone(content) as { title: unknown }[];
  shown[1]!.title = expect.stringMatching(/^\[removed by portcullis/);
  expect(requests[0]!.messages[0]!.content).toEqual(shown);
});
