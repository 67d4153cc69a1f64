import Anthropic from '@anthropic-ai/sdk';
import { AIMessage as CoreMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { Agent, type Model, Runner, Usage } from '@openai/agents';
import { generateText, streamText, wrapLanguageModel } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';
import * as langchain from 'langchain';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { guardModel } from '../../src/integrations/ai-sdk/index.js';
import { guardMiddleware as guardAnthropic } from '../../src/integrations/anthropic/index.js';
import { guardMiddleware as guardLangChain } from '../../src/integrations/langchain/index.js';
import { guardFetch } from '../../src/integrations/openai/index.js';
import { guardAgents } from '../../src/integrations/openai-agents/index.js';
import { createGuard, type Guard, type GuardEvent } from '../../src/policy/index.js';
import { counting } from './adapters/matrix.js';
import { mastraAgent } from './mastra-agent.js';
import { HONEST, history, items, LEAK, MAIL, SAID, toolCalls, usage } from './read-mail.js';

// What a model thinks after it read a mail, and an answer in several texts: each host shows no way out that only the mail opened. A
// thought that the provider signed stays as it is: the provider refuses a history in which it is changed. OpenAI signs none.

interface Answer {
  readonly thinks: string;
  /** Of the provider, over what the model thinks. */
  readonly signature?: string;
  readonly says: readonly string[];
}

/** What a host's user sees; `raw`: all that the host was given, as JSON. */
interface Seen {
  readonly thought: string;
  readonly text: string;
  readonly raw: string;
}

type Host = (guard: Guard, answer: Answer) => Promise<Seen>;

const chatMessages = [
  { role: 'user' as const, content: SAID },
  { role: 'assistant' as const, content: null, tool_calls: toolCalls },
  { role: 'tool' as const, tool_call_id: 't', content: MAIL },
];
const responsesInput = [
  { role: 'user' as const, content: SAID },
  { type: 'function_call' as const, call_id: 't', name: 'mail', arguments: '{}' },
  { type: 'function_call_output' as const, call_id: 't', output: MAIL },
];
const anthropicMessages = [
  { role: 'user' as const, content: SAID },
  { role: 'assistant' as const, content: [{ type: 'tool_use' as const, id: 't', name: 'mail', input: {} }] },
  { role: 'user' as const, content: [{ type: 'tool_result' as const, tool_use_id: 't', content: MAIL }] },
];
const finishReason = { unified: 'stop', raw: undefined };

function piecesOf(text: string): readonly string[] {
  return text.match(/[\s\S]{1,5}/g) ?? [];
}

function joined(parts: readonly unknown[], type: string, member: string): string {
  const shown = parts as readonly Record<string, unknown>[];
  return shown.flatMap((part) => (part.type === type ? [part[member]] : [])).join('');
}

function events(all: readonly { readonly type?: string }[]): Response {
  const lines = all.map((data) => `${data.type ? `event: ${data.type}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
  return new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

function openAi(guard: Guard, reply: () => Response): OpenAI {
  const fetch = guardFetch(guard, async () => reply());
  return new OpenAI({ apiKey: 'x', baseURL: 'http://openai.test/v1', fetch });
}

function anthropic(guard: Guard, reply: () => Response): Anthropic {
  const fetch = async (): Promise<Response> => reply();
  return new Anthropic({ apiKey: 'x', baseURL: 'http://anthropic.test', fetch, middleware: [guardAnthropic(guard)] });
}

/** A model of the AI SDK that thinks and says something. */
function modelOf({ thinks, signature, says }: Answer): {
  doGenerate: () => Promise<object>;
  doStream: () => Promise<object>;
} {
  const signed = signature !== undefined && { providerMetadata: { anthropic: { signature } } };
  const content = [{ type: 'reasoning', text: thinks, ...signed }, ...says.map((text) => ({ type: 'text', text }))];
  const parts = [
    { type: 'stream-start', warnings: [] },
    { type: 'reasoning-start', id: '0' },
    ...piecesOf(thinks).map((delta) => ({ type: 'reasoning-delta', id: '0', delta })),
    ...(signed ? [{ type: 'reasoning-delta', id: '0', delta: '', ...signed }] : []),
    { type: 'reasoning-end', id: '0' },
    ...says.flatMap((said, at) => [
      { type: 'text-start', id: `t${at}` },
      ...piecesOf(said).map((delta) => ({ type: 'text-delta', id: `t${at}`, delta })),
      { type: 'text-end', id: `t${at}` },
    ]),
    { type: 'finish', finishReason, usage },
  ];
  return {
    doGenerate: async () => ({ content, finishReason, usage, warnings: [] }),
    doStream: async () => ({ stream: convertArrayToReadableStream(parts) }),
  };
}

function responsesOf({ thinks, signature, says }: Answer) {
  const reasoning = {
    ...{ id: 'r', type: 'reasoning', summary: [{ type: 'summary_text', text: thinks }] },
    ...(signature !== undefined && { encrypted_content: signature }),
  };
  const content = says.map((text) => ({ type: 'output_text', text, annotations: [] }));
  const message = { id: 'i', type: 'message', role: 'assistant', status: 'completed', content };
  return { reasoning, message, response: { id: 'resp', object: 'response', output: [reasoning, message] } };
}

function anthropicContent({ thinks, signature = '', says }: Answer): readonly object[] {
  return [{ type: 'thinking', thinking: thinks, signature }, ...says.map((text) => ({ type: 'text', text }))];
}

const hosts: Readonly<Record<string, Host>> = {
  async 'AI SDK'(guard, answer) {
    const model = new MockLanguageModelV4(modelOf(answer) as never);
    const result = await generateText({
      ...{ model: wrapLanguageModel({ model, middleware: guardModel(guard) }), messages: history },
    });
    const { text, reasoningText: thought = '', content } = result;
    return { thought, text, raw: JSON.stringify(content) };
  },
  async 'AI SDK, streamed'(guard, answer) {
    const model = new MockLanguageModelV4(modelOf(answer) as never);
    const { fullStream } = streamText({
      ...{ model: wrapLanguageModel({ model, middleware: guardModel(guard) }), messages: history },
    });
    const seen: unknown[] = [];
    for await (const part of fullStream) seen.push(part);
    const [thought, text] = [joined(seen, 'reasoning-delta', 'text'), joined(seen, 'text-delta', 'text')];
    return { thought, text, raw: JSON.stringify(seen) };
  },
  async 'OpenAI, responses'(guard, answer) {
    const client = openAi(guard, () => Response.json(responsesOf(answer).response));
    const { output, output_text: text } = await client.responses.create({ model: 'm', input: responsesInput });
    const [item] = output as OpenAI.Responses.ResponseReasoningItem[];
    return { thought: item?.summary[0]?.text ?? '', text, raw: JSON.stringify(output) };
  },
  async 'OpenAI, responses, streamed'(guard, answer) {
    const { reasoning, message, response } = responsesOf(answer);
    const thought = { item_id: 'r', output_index: 0, summary_index: 0 };
    const part = { type: 'summary_text', text: answer.thinks };
    const all = [
      { type: 'response.created', response: { ...response, output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, summary: [] } },
      { type: 'response.reasoning_summary_part.added', ...thought, part: { ...part, text: '' } },
      ...piecesOf(answer.thinks).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...thought, delta })),
      { type: 'response.reasoning_summary_text.done', ...thought, text: answer.thinks },
      { type: 'response.reasoning_summary_part.done', ...thought, part },
      { type: 'response.output_item.done', output_index: 0, item: reasoning },
      { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
      ...message.content.flatMap((said, at) => {
        const place = { item_id: 'i', output_index: 1, content_index: at };
        return [
          { type: 'response.content_part.added', ...place, part: { ...said, text: '' } },
          ...piecesOf(said.text).map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
          { type: 'response.output_text.done', ...place, text: said.text },
          { type: 'response.content_part.done', ...place, part: said },
        ];
      }),
      { type: 'response.output_item.done', output_index: 1, item: message },
      { type: 'response.completed', response },
    ].map((event, at) => ({ ...event, sequence_number: at }));
    const stream = openAi(guard, () => events(all)).responses.stream({ model: 'm', input: responsesInput });
    const seen: unknown[] = [];
    for await (const event of stream) seen.push(event);
    return {
      thought: joined(seen, 'response.reasoning_summary_text.delta', 'delta'),
      text: joined(seen, 'response.output_text.delta', 'delta'),
      raw: JSON.stringify([seen, await stream.finalResponse()]),
    };
  },
  async Anthropic(guard, answer) {
    const reply = { id: 'a', type: 'message', role: 'assistant', content: anthropicContent(answer) };
    const client = anthropic(guard, () => Response.json(reply));
    const { content } = await client.messages.create({ model: 'm', max_tokens: 10, messages: anthropicMessages });
    return {
      ...{ thought: joined(content, 'thinking', 'thinking'), text: joined(content, 'text', 'text') },
      raw: JSON.stringify(content),
    };
  },
  async 'Anthropic, streamed'(guard, answer) {
    const { thinks, signature, says } = answer;
    const message = { id: 'a', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
    const delta = (index: number, what: object) => ({ type: 'content_block_delta', index, delta: what });
    const all = [
      { type: 'message_start', message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      ...piecesOf(thinks).map((thinking) => delta(0, { type: 'thinking_delta', thinking })),
      ...(signature === undefined ? [] : [delta(0, { type: 'signature_delta', signature })]),
      { type: 'content_block_stop', index: 0 },
      ...says.flatMap((said, at) => [
        { type: 'content_block_start', index: at + 1, content_block: { type: 'text', text: '' } },
        ...piecesOf(said).map((text) => delta(at + 1, { type: 'text_delta', text })),
        { type: 'content_block_stop', index: at + 1 },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ];
    const asked = { model: 'm', max_tokens: 10, messages: anthropicMessages };
    const stream = anthropic(guard, () => events(all)).messages.stream(asked);
    const seen: unknown[] = [];
    for await (const event of stream) seen.push(event);
    const { content } = await stream.finalMessage();
    return {
      ...{ thought: joined(content, 'thinking', 'thinking'), text: joined(content, 'text', 'text') },
      raw: JSON.stringify([seen, content]),
    };
  },
  async LangChain(guard, answer) {
    const model = fakeModel();
    model.respond(new CoreMessage({ content: anthropicContent(answer) as never }));
    const middleware = [guardLangChain(guard, langchain)];
    const agent = langchain.createAgent({ model: model as never, tools: [], middleware });
    const { messages } = await agent.invoke({
      messages: [
        new HumanMessage(SAID),
        new CoreMessage({ content: '', tool_calls: [{ id: 't', name: 'mail', args: {} }] }),
        new ToolMessage({ tool_call_id: 't', content: MAIL }),
      ],
    });
    const content = messages.at(-1)?.content as readonly unknown[];
    return {
      ...{ thought: joined(content, 'thinking', 'thinking'), text: joined(content, 'text', 'text') },
      raw: JSON.stringify(messages.at(-1)),
    };
  },
  async Mastra(guard, answer) {
    const {
      text,
      reasoningText: thought = '',
      response,
    } = await mastraAgent(guard, modelOf(answer)).generate(history as never);
    return { thought, text, raw: JSON.stringify([text, thought, response.messages]) };
  },
  async 'Mastra, streamed'(guard, answer) {
    const stream = await mastraAgent(guard, modelOf(answer)).stream(history as never);
    const seen: { type: string; payload?: unknown }[] = [];
    for await (const part of stream.fullStream) seen.push(part as never);
    const payloads = seen.map(({ type, payload }) => ({ ...(payload as object), type }));
    return {
      thought: joined(payloads, 'reasoning-delta', 'text'),
      text: joined(payloads, 'text-delta', 'text'),
      raw: JSON.stringify([seen, await stream.response]),
    };
  },
  'OpenAI Agents': (guard, answer) => runAgents(guard, answer, false),
  'OpenAI Agents, streamed': (guard, answer) => runAgents(guard, answer, true),
};

async function runAgents(guard: Guard, { thinks, signature, says }: Answer, isStreamed: boolean): Promise<Seen> {
  const reasoning = {
    ...{ type: 'reasoning', content: [], rawContent: [{ type: 'reasoning_text', text: thinks }] },
    ...(signature !== undefined && { providerData: { encrypted_content: signature } }),
  };
  const content = says.map((text) => ({ type: 'output_text', text }));
  const message = { type: 'message', role: 'assistant', status: 'completed', content };
  const output = [reasoning, message] as never;
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  const model: Model = {
    getResponse: async () => ({ usage: new Usage(), output }),
    async *getStreamedResponse() {
      yield { type: 'model', event: { type: 'response.output_item.done', item: reasoning } };
      for (const [at, said] of says.entries())
        for (const delta of piecesOf(said)) yield { type: 'output_text_delta', delta, itemId: `i${at}` } as never;
      yield { type: 'response_done', response: { id: 'r', usage, output } };
    },
  };
  const { callModelInputFilter, model: guarded } = guardAgents(guard);
  const agent = new Agent({ name: 'a', model: guarded(model) });
  const runner = new Runner({ callModelInputFilter, tracingDisabled: true });
  const seen: unknown[] = [];
  let history: readonly unknown[];
  if (isStreamed) {
    const stream = await runner.run(agent, items, { stream: true });
    for await (const event of stream) seen.push(event.type === 'raw_model_stream_event' ? event.data : event);
    history = stream.history;
  } else history = (await runner.run(agent, items)).history;
  const [thought, last] = history.slice(-2) as [typeof reasoning, typeof message];
  const text = isStreamed ? joined(seen, 'output_text_delta', 'delta') : joined(last.content, 'output_text', 'text');
  return { thought: thought.rawContent[0]?.text ?? '', text, raw: JSON.stringify([seen, history]) };
}

function hidden(text: string): string {
  return text.replace(/\[removed by portcullis: [^\]]*\]/g, '[…]');
}

describe.each(Object.entries(hosts))('%s', (_, see) => {
  it('takes ways out from what the model thinks', async () => {
    const { thought, text, raw } = await see(createGuard({ engine: counting() }), { thinks: LEAK, says: ['Done.'] });
    expect(hidden(thought)).toBe(`${HONEST}![c]([…]) Done.`);
    expect(text).toBe('Done.');
    expect(raw).not.toContain('d=anna');
  });

  it('shows an honest thought as it is', async () => {
    const { thought, text } = await see(createGuard({ engine: counting() }), { thinks: HONEST, says: [HONEST] });
    expect([thought, text]).toEqual([HONEST, HONEST]);
  });

  it('leaves no way out over two texts of an answer', async () => {
    const [from, to] = [LEAK.indexOf('![c](') + 1, LEAK.lastIndexOf(')') + 1];
    for (let at = from; at < to; at += 7) {
      const guard = createGuard({ engine: counting() });
      const { text } = await see(guard, { thinks: 'Hm.', says: [LEAK.slice(0, at), LEAK.slice(at)] });
      expect(text).not.toContain('d=anna');
      expect(text).toContain('removed by portcullis');
      expect(text.endsWith(' Done.')).toBe(true);
    }
  });
});

const isOpenAi = ([host]: readonly [string, Host]): boolean => host.startsWith('OpenAI');

it.each(Object.entries(hosts).filter(isOpenAi))(
  '%s: an encrypted thought has no ways out of what is readable',
  async (_, see) => {
    const guard = createGuard({ engine: counting() });
    const { thought, raw } = await see(guard, { thinks: LEAK, signature: 'c2lnbmVk', says: ['Done.'] });
    expect(hidden(thought)).toBe(`${HONEST}![c]([…]) Done.`);
    expect(raw).toContain('c2lnbmVk');
    expect(raw).not.toContain('d=anna');
  },
);

it.each(Object.entries(hosts).filter((host) => !isOpenAi(host)))(
  '%s: a signed thought stays as it is, and what is found is reported',
  async (_, see) => {
    const told: GuardEvent[] = [];
    const guard = createGuard({ engine: counting(), report: (event) => told.push(event) });
    const { thought, raw } = await see(guard, { thinks: LEAK, signature: 'c2lnbmVk', says: ['Done.'] });
    expect(thought).toBe(LEAK);
    expect(raw).toContain('c2lnbmVk');
    expect(raw).not.toContain('removed by portcullis');
    const found = told.filter(({ cause }) => cause === 'output');
    expect(found.length).toBeGreaterThan(0);
    for (const { action, leaks } of found) {
      expect(action).toBe('report');
      expect(leaks).toMatchObject([{ rule: 'output.carries-values' }]);
    }
  },
);

describe.each(['reasoning_content', 'reasoning'])('`%s` of Chat Completions', (name) => {
  it('has no ways out', async () => {
    const message = { role: 'assistant', content: 'Done.', [name]: LEAK };
    const reply = { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
    const client = openAi(createGuard({ engine: counting() }), () => Response.json(reply));
    const { choices } = await client.chat.completions.create({ model: 'm', messages: chatMessages });
    expect(hidden(JSON.stringify(choices))).toContain('![c]([…])');
    expect(JSON.stringify(choices)).not.toContain('evil');
  });

  it('has none in a stream, and ends before the answer begins', async () => {
    const chunk = (delta: object, finish_reason: string | null = null): object => ({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
      choices: [{ index: 0, delta, finish_reason }],
    });
    const all = [
      ...piecesOf(LEAK).map((piece) => chunk({ [name]: piece })),
      chunk({ content: 'All done.' }),
      chunk({}, 'stop'),
    ];
    const client = openAi(createGuard({ engine: counting() }), () => events(all));
    const stream = await client.chat.completions.create({ model: 'm', stream: true, messages: chatMessages });
    const deltas: Record<string, unknown>[] = [];
    for await (const { choices } of stream) deltas.push({ ...choices[0]?.delta });
    const shown = (each: string): string => deltas.map((delta) => delta[each] ?? '').join('');
    expect(hidden(shown(name))).toBe(`${HONEST}![c]([…]) Done.`);
    expect(shown('content')).toBe('All done.');
    const last = deltas.findLastIndex((delta) => delta[name]);
    expect(last).toBeLessThanOrEqual(deltas.findIndex((delta) => delta.content));
  });
});

describe.each([false, true])('`reasoning_details` of Chat Completions, streamed: %s', (isStreamed) => {
  type Detail = Readonly<Record<string, unknown>>;

  /** The details that an application joins, by index. */
  async function see(details: readonly Detail[], guard: Guard): Promise<readonly Detail[]> {
    if (!isStreamed) {
      const message = { role: 'assistant', content: 'Done.', reasoning_details: details };
      const reply = { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
      const client = openAi(guard, () => Response.json(reply));
      const { choices } = await client.chat.completions.create({ model: 'm', messages: chatMessages });
      return (choices[0]!.message as unknown as { reasoning_details: Detail[] }).reasoning_details;
    }
    const chunk = (delta: object, finish_reason: string | null = null): object => ({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
      choices: [{ index: 0, delta, finish_reason }],
    });
    const pieces = details.flatMap(({ text, summary, signature, ...rest }) => [
      ...piecesOf(String(text ?? summary ?? '')).map((piece) => ({
        ...{ ...rest, [text === undefined ? 'summary' : 'text']: piece },
      })),
      ...(signature === undefined && (text ?? summary) !== undefined
        ? []
        : [{ ...rest, ...(signature ? { signature } : {}) }]),
    ]);
    const all = [
      ...pieces.map((piece) => chunk({ reasoning_details: [piece] })),
      chunk({ content: 'Done.' }),
      chunk({}, 'stop'),
    ];
    const client = openAi(guard, () => events(all as never));
    const stream = await client.chat.completions.create({ model: 'm', stream: true, messages: chatMessages });
    const joinedDetails: Record<string, unknown>[] = [];
    for await (const { choices } of stream)
      for (const piece of (choices[0]!.delta as { reasoning_details?: Detail[] }).reasoning_details ?? []) {
        joinedDetails[Number(piece.index)] ??= {};
        const detail = joinedDetails[Number(piece.index)]!;
        for (const [name, value] of Object.entries(piece))
          detail[name] = name === 'text' || name === 'summary' ? `${detail[name] ?? ''}${value}` : value;
      }
    return joinedDetails;
  }

  it.each(['text', 'summary'])('have no ways out in a %s, also beside an encrypted one', async (name) => {
    const details = [
      { type: `reasoning.${name}`, [name]: LEAK, format: 'f', index: 0 },
      { type: 'reasoning.encrypted', data: 'c2VjcmV0', format: 'f', index: 1 },
    ];
    const shown = await see(details, createGuard({ engine: counting() }));
    expect(hidden(String(shown[0]?.[name]))).toBe(`${HONEST}![c]([…]) Done.`);
    expect(shown[1]).toEqual(details[1]);
  });

  it('stay as they are where the provider signed them, or they are honest', async () => {
    const details = [
      { type: 'reasoning.text', text: LEAK, signature: 'c2lnbmVk', format: 'f', index: 0 },
      { type: 'reasoning.text', text: HONEST, format: 'f', index: 1 },
    ];
    expect(await see(details, createGuard({ engine: counting() }))).toEqual(details);
  });
});

it('takes ways out from JSON of any media type', async () => {
  const message = { role: 'assistant', content: LEAK };
  const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
  for (const type of ['application/json; charset=utf-8', 'application/vnd.api+json', 'text/json']) {
    const reply = async (): Promise<Response> => new Response(body, { headers: { 'content-type': type } });
    const sent = { method: 'POST', body: JSON.stringify({ model: 'm', messages: chatMessages }) };
    const fetch = guardFetch(createGuard({ engine: counting() }), reply);
    const shown = await (await fetch('http://openai.test/v1/chat/completions', sent)).text();
    expect(shown).not.toContain('d=anna');
  }
});

it.each<[string, object, boolean]>([
  ['Anthropic', { anthropic: { signature: 'c2ln' } }, true],
  ['Gemini', { google: { thoughtSignature: 'c2ln' } }, true],
  ['OpenAI', { openai: { itemId: 'r', reasoningEncryptedContent: 'ZW5j' } }, false],
  ['a member whose name only sounds like it', { custom: { isSignatureValid: 'no', encryptedBy: 'me' } }, false],
])('AI SDK: a thought of %s', async (_, providerMetadata, isSigned) => {
  const content = [{ type: 'reasoning', text: LEAK, providerMetadata }];
  const model = new MockLanguageModelV4({
    doGenerate: async () => ({ content, finishReason, usage, warnings: [] }),
  } as never);
  const middleware = guardModel(createGuard({ engine: counting() }));
  const { reasoningText } = await generateText({ model: wrapLanguageModel({ model, middleware }), messages: history });
  expect(reasoningText === LEAK).toBe(isSigned);
});
