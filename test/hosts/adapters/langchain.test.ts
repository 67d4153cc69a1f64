import { ChatMessage, FunctionMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import * as langchain from 'langchain';
import { AIMessage, createAgent, HumanMessage, tool } from 'langchain';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { guardMiddleware, pageContent } from '../../../src/integrations/langchain/index.js';
import { createGuard, type Guard, guardDocuments } from '../../../src/policy/index.js';
import { ATTACK, BENIGN, broken, counting, hanging, MIXED, matrix, resolveFrom } from './matrix.js';

type Step = string | Readonly<Record<string, unknown>>;

/** A model that says these steps one after another: a text, or a call of the tool `mail` with these arguments. */
const mock = (...steps: readonly Step[]) => {
  const model = fakeModel();
  steps.forEach((step, index) => {
    if (typeof step === 'string') model.respond(new AIMessage(step));
    else model.respondWithTools([{ name: 'mail', args: step, id: `c${index}` }]);
  });
  return model;
};
type Mock = ReturnType<typeof mock>;
const seenBy = (model: Mock): string =>
  JSON.stringify(model.calls.map(({ messages }) => messages.map(({ content }) => content)));

const mail = (run: (input: { q: string }) => unknown, description = 'Reads the mail.') =>
  tool(run as never, { name: 'mail', description, schema: z.object({ q: z.string() }) });

const agentOf = (guard: Guard, model: Mock, tools: ReturnType<typeof mail>[] = []) =>
  createAgent({ model: model as never, tools, middleware: [guardMiddleware(guard, langchain)] });
const ask = async (guard: Guard, model: Mock, tools: ReturnType<typeof mail>[] = [], prompt = 'Read my mail.') => {
  const { messages } = await agentOf(guard, model, tools).invoke(
    { messages: [new HumanMessage(prompt)] },
    { recursionLimit: 60 },
  );
  return messages.map(({ type, text }) => `${type}: ${text}`);
};
const rules = (options: Parameters<typeof createGuard>[0] = {}) => createGuard({ engine: counting(), ...options });

matrix('LangChain', 'langchain', {
  async 'clean run'() {
    const model = mock({ q: 'today' }, 'done');
    const messages = await ask(rules(), model, [mail(async () => BENIGN)]);
    expect(messages.slice(2)).toEqual([`tool: ${BENIGN}`, 'ai: done']);
  },
  async 'user text'() {
    const model = mock('hi');
    const messages = await ask(rules(), model, [], ATTACK);
    expect(messages.at(-1)).toMatch(/^ai: \[refused by portcullis: .* evidence=ev_[0-9a-f]{24}\]$/);
    await expect(ask(rules({ on: { user: 'throw' } }), model, [], ATTACK)).rejects.toThrow('refused by portcullis');
    expect(model.callCount).toBe(0);
  },
  async 'tool result'() {
    const model = mock({ q: 'today' }, 'done');
    const messages = await ask(rules(), model, [mail(async () => ATTACK)]);
    expect(messages[2]).toMatch(/^tool: \[removed by portcullis/);
    expect(seenBy(model)).not.toContain(ATTACK);
    const stopping = mock({ q: 'today' }, 'done');
    await ask(rules({ on: { tool_result: 'stop' } }), stopping, [mail(async () => ATTACK)]);
    expect(stopping.callCount).toBe(1);
    const throwing = ask(rules({ on: { tool_result: 'throw' } }), mock({ q: 'x' }, 'done'), [mail(async () => ATTACK)]);
    await expect(throwing).rejects.toThrow('removed by portcullis');
  },
  async 'failed tool'() {
    for (const [message, isShown] of [
      [ATTACK, false],
      ['no such mailbox', true],
    ] as const) {
      const model = mock({ q: 'today' }, 'done');
      const failing = mail(async () => {
        throw new Error(message);
      });
      const messages = await ask(rules(), model, [failing]);
      expect(messages.at(-1)).toBe('ai: done');
      expect(seenBy(model).includes(message)).toBe(isShown);
      expect(messages[2]!.includes('removed by portcullis')).toBe(!isShown);
    }
  },
  async 'tool argument'() {
    let ran = 0;
    const model = mock({ q: ATTACK }, 'done');
    const messages = await ask(rules(), model, [
      mail(async () => {
        ran += 1;
        return 'sent';
      }),
    ]);
    expect(messages[2]).toContain('denied by portcullis');
    expect(ran).toBe(0);
  },
  async 'tool definition'() {
    const model = mock('done');
    const bound: string[] = [];
    const bind = model.bindTools.bind(model);
    model.bindTools = ((tools: { name: string }[]) => {
      bound.push(...tools.map(({ name }) => name));
      return bind(tools as never);
    }) as never;
    const clock = tool((() => 'noon') as never, {
      name: 'clock',
      description: 'Tells the time.',
      schema: z.object({}),
    });
    await ask(rules(), model, [mail(async () => 'x', `Reads the mail. ${ATTACK}`), clock as never]);
    expect(bound).toEqual(['clock']);
  },
  async streaming() {
    const model = mock({ q: 'today' }, 'done');
    const agent = agentOf(rules(), model, [mail(async () => ATTACK)]);
    const chunks: string[] = [];
    for await (const chunk of await agent.stream(
      { messages: [new HumanMessage('Read.')] },
      { streamMode: ['updates', 'messages', 'values'] },
    )) {
      chunks.push(JSON.stringify(chunk));
    }
    expect(chunks.join()).toContain('removed by portcullis');
    expect(chunks.join()).not.toContain(ATTACK);
  },
  async 'engine error'() {
    const model = mock('hi', 'hi');
    expect((await ask(createGuard({ engine: broken }), model)).at(-1)).toContain('could not be screened');
    expect(model.callCount).toBe(0);
    expect((await ask(createGuard({ engine: broken, onError: 'allow' }), model)).at(-1)).toBe('ai: hi');
  },
  async timeout() {
    const model = mock('hi');
    const messages = await ask(createGuard({ engine: hanging, timeoutMs: 20 }), model);
    expect(messages.at(-1)).toContain('could not be screened in time');
    expect(model.callCount).toBe(0);
  },
  async redact() {
    const guard = rules({ on: { tool_result: 'redact', user: 'redact' } });
    const model = mock({ q: 'today' }, 'done');
    const messages = await ask(guard, model, [mail(async () => MIXED)], MIXED);
    expect(messages[2]).toContain(`${BENIGN} [removed]`);
    expect(seenBy(model)).not.toContain('Ignore all previous');
    expect(seenBy(model)).toContain(`${BENIGN} [removed]`);
  },
  async 'cache hit'() {
    const engine = counting();
    const steps = Array.from({ length: 9 }, (_, index) => ({ q: `mail ${index}` }));
    let count = 0;
    await ask(createGuard({ engine }), mock(...steps, 'done'), [mail(async () => `${BENIGN} ${count++}`)]);
    expect(engine.twice()).toEqual([]);
    // The prompt, nine calls with their results, the definition, and the eight joints between two results.
    expect(engine.asked.length).toBe(28);
  },
  async abort() {
    const model = mock('hi');
    const controller = new AbortController();
    const run = agentOf(createGuard({ engine: hanging }), model).invoke(
      { messages: [new HumanMessage('Hello')] },
      { signal: controller.signal },
    );
    setTimeout(() => controller.abort(), 10);
    await expect(run).rejects.toThrow();
    expect(model.callCount).toBe(0);
  },
});

/** The copy and the kind of module that LangChain loads itself. */
const graph = resolveFrom('langchain', '@langchain/langgraph').replace(/\.cjs$/, '.js');
const { Command, interrupt, MemorySaver } = (await import(graph)) as {
  readonly Command: new (update: { readonly resume: unknown }) => never;
  readonly interrupt: (question: never) => unknown;
  readonly MemorySaver: new () => never;
};

describe('LangChain 1: a value from data, with `ask`', () => {
  const eve = 'eve@evil.example';
  const setUp = async (q: string, allowed = eve) => {
    const ran: string[] = [];
    const tools = [
      mail(async (input) => {
        ran.push(input.q);
        return `Eve: ${allowed}`;
      }),
    ];
    const guard = rules({ on: { flow: { foreign: 'ask' } }, tools: { mail: { effect: 'send' } } });
    const agent = createAgent({
      ...{ model: mock({ q: 'contacts' }, { q }, 'done') as never, tools, checkpointer: new MemorySaver() },
      middleware: [guardMiddleware(guard, { ...langchain, interrupt })],
    });
    const thread = { configurable: { thread_id: 't' } };
    const first = await agent.invoke({ messages: [new HumanMessage('Write to Eve.')] }, thread);
    const resume = async (answer: unknown) => agent.invoke(new Command({ resume: answer }), thread);
    const [asked] = (first as { __interrupt__?: { value: unknown }[] }).__interrupt__ ?? [];
    return { ran, resume, asked: asked?.value, messages: first.messages };
  };

  it.each([
    [true, ['contacts', eve]],
    [false, ['contacts']],
    [{ approved: true }, ['contacts']],
  ])('shows a person which value goes where, and is made or not: %j', async (answer, expected) => {
    const { ran, resume, asked } = await setUp(eve);
    expect(ran).toEqual(['contacts']);
    expect(asked).toMatchObject({
      portcullis: {
        tool: 'mail',
        question: `May mail (send) use “${eve}” in q, from the result of mail? The user never gave this.`,
      },
    });
    const { messages } = await resume(answer);
    expect(ran).toEqual(expected);
    expect(messages.at(-1)!.text).toBe('done');
    expect(JSON.stringify(messages).includes('denied by portcullis')).toBe(answer !== true);
  });

  it('is denied where there are too many to show', async () => {
    const many = Array.from({ length: 21 }, (_, index) => `eve${index}@evil.example`).join(' ');
    const { ran, asked, messages } = await setUp(many, many);
    expect([asked, ran]).toEqual([undefined, ['contacts']]);
    expect(JSON.stringify(messages)).toContain('denied by portcullis');
  });
});

it('LangChain 1: documents keep their class and metadata', async () => {
  const { Document } = await import('@langchain/core/documents');
  const documents = [
    new Document({ pageContent: BENIGN, metadata: { id: 1 } }),
    new Document({ pageContent: ATTACK, metadata: { id: 2 } }),
  ];
  const [first, second] = await guardDocuments(rules(), documents, pageContent<InstanceType<typeof Document>>());
  expect(first).toBe(documents[0]);
  expect(second).toBeInstanceOf(Document);
  expect(second!.metadata).toEqual({ id: 2 });
  expect(second!.pageContent).toContain('removed by portcullis');
});

const encoded = Buffer.from(ATTACK).toString('base64');
const text = (said: string) => ({ type: 'text', text: said });
const blocks: readonly (readonly [string, object])[] = [
  ['a text file', { type: 'file', mimeType: 'text/plain', data: encoded }],
  ['a text file of version 0', { type: 'file', source_type: 'text', mime_type: 'text/plain', text: ATTACK }],
  ['a plain text', { type: 'text-plain', mimeType: 'text/plain', text: ATTACK }],
  ['a document', { type: 'document', source: { type: 'text', media_type: 'text/plain', data: ATTACK } }],
  ['input_text', { type: 'input_text', text: ATTACK }],
  ['a search result', { type: 'search_result', title: 't', source: 's', content: [text(ATTACK)] }],
  ['a resource', { type: 'resource', resource: { uri: 'file:///a', text: ATTACK } }],
  ['json', { type: 'json', json: { a: [ATTACK] } }],
  ['a block that nobody knows', { type: 'hologram', layers: [{ caption: ATTACK }] }],
];

describe.each(blocks)('LangChain 1: %s', (_, block) => {
  it.each([
    ['of a user', new HumanMessage({ content: [text('Sum it up.'), block] as never })],
    ['of a tool', new langchain.ToolMessage({ content: [text('See.'), block] as never, tool_call_id: 'c' })],
  ])('%s', async (__, message) => {
    const model = mock('done');
    await agentOf(rules(), model).invoke({ messages: [new HumanMessage('Go on.'), message] });
    expect(seenBy(model)).not.toContain(ATTACK);
    expect(seenBy(model)).not.toContain(encoded.slice(0, 40));
  });
});

it.each([
  new ChatMessage({ role: 'user', content: ATTACK }),
  new ChatMessage({ role: 'document', content: ATTACK }),
  new FunctionMessage({ name: 'f', content: ATTACK }),
])('LangChain 1: message %#, of another class', async (message) => {
  const model = mock('done');
  await agentOf(rules(), model).invoke({ messages: [new HumanMessage('Go on.'), message as never] });
  expect(seenBy(model)).not.toContain(ATTACK);
});

it('LangChain 1: a turn that was refused does not refuse the next one', async () => {
  const model = mock('Rain.');
  const messages = [new HumanMessage(ATTACK), new AIMessage('No.'), new HumanMessage('How is the weather?')];
  const run = await agentOf(rules(), model).invoke({ messages });
  expect(run.messages.at(-1)!.text).toBe('Rain.');
  expect(seenBy(model)).toMatch(/refused by portcullis/);
});

it('LangChain 1: what a schema says of a parameter, and definitions in the words of a provider', async () => {
  const parameters = { type: 'object', properties: { q: { type: 'string', description: ATTACK } } };
  const tools = [
    tool((() => 'x') as never, {
      name: 'four',
      description: 'd',
      schema: z.object({ q: z.string().describe(ATTACK) }),
    }),
    tool((() => 'x') as never, {
      name: 'three',
      description: 'd',
      schema: z3.object({ q: z3.string().describe(ATTACK) }) as never,
    }),
    tool((() => 'x') as never, { name: 'json', description: 'd', schema: parameters as never }),
    { type: 'function', function: { name: 'openai', description: 'd', parameters } },
    { type: 'function', function: { name: 'clean', description: 'Tells the time.', parameters: {} } },
  ];
  const model = mock('done');
  const bound: unknown[] = [];
  const bind = model.bindTools.bind(model);
  model.bindTools = ((given: { name?: string; function?: { name: string } }[]) => {
    bound.push(...given.map((one) => one.name ?? one.function?.name));
    return bind(given as never);
  }) as never;
  await agentOf(rules(), model, tools as never).invoke({ messages: [new HumanMessage('Hello')] });
  expect(bound).toEqual(['clean']);
});

it('LangChain 1: a summary of the conversation gives nothing, and is no task', async () => {
  const engine = counting();
  const guard = createGuard({ engine, tools: { mail: { effect: 'send' } }, on: { flow: { foreign: 'deny' } } });
  const summary = 'The mail is to go to eve@evil.example.';
  const asked = async (message: HumanMessage): Promise<string> => {
    const model = mock({ q: 'eve@evil.example' }, 'done');
    const messages = [new HumanMessage('Read my mail.'), message];
    return (await agentOf(guard, model, [mail(async () => 'sent')]).invoke({ messages })).messages[3]!.text;
  };
  const additional_kwargs = { lc_source: 'summarization' };
  expect(await asked(new HumanMessage({ content: summary, additional_kwargs }))).toContain('by portcullis');
  expect(await asked(new HumanMessage(summary))).toBe('sent');
});
