import {
  Agent,
  type MCPServer,
  type Model,
  type ModelRequest,
  run,
  setTracingDisabled,
  tool,
  Usage,
} from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { guardAgents } from '../../../src/integrations/openai-agents/index.js';
import { createGuard, type Guard } from '../../../src/policy/index.js';
import { ATTACK, BENIGN, broken, counting, hanging, MIXED, matrix } from './matrix.js';

setTracingDisabled(true);
type Step = string | Readonly<Record<string, unknown>>;

/** A model that says these steps one after another: a text, or a call of the tool `mail` with these arguments. */
class Mock implements Model {
  readonly asked: ModelRequest[] = [];
  readonly #steps: readonly Step[];
  constructor(...steps: readonly Step[]) {
    this.#steps = steps;
  }
  #next(request: ModelRequest): never {
    const step = this.#steps[Math.min(this.asked.length, this.#steps.length - 1)]!;
    this.asked.push(structuredClone({ ...request, signal: undefined, tracing: undefined }) as never);
    const output =
      typeof step === 'string'
        ? { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: step }] }
        : {
            type: 'function_call',
            callId: `c${this.asked.length}`,
            name: 'mail',
            status: 'completed',
            arguments: JSON.stringify(step),
          };
    return output as never;
  }
  async getResponse(request: ModelRequest) {
    return { usage: new Usage(), output: [this.#next(request)] };
  }
  async *getStreamedResponse(request: ModelRequest) {
    const output = [this.#next(request)];
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    yield { type: 'response_done', response: { id: 'r', usage, output } } as never;
  }
  get seen(): string {
    return JSON.stringify(this.asked.map(({ input }) => input));
  }
  get lastOutput(): unknown {
    return (this.asked.at(-1)!.input as { output?: unknown }[]).at(-1)!.output;
  }
}

const mail = (execute: () => unknown, extra: object = {}) =>
  tool({
    name: 'mail',
    description: 'Reads the mail.',
    parameters: z.object({ q: z.string() }),
    execute: execute as never,
    ...extra,
  });
const rules = (options: Parameters<typeof createGuard>[0] = {}) => createGuard({ engine: counting(), ...options });
const agentOf = async (guard: Guard, model: Mock, tools: ReturnType<typeof mail>[] = []) => {
  const guarded = guardAgents(guard);
  return new Agent({
    name: 'a',
    instructions: 'x',
    model: guarded.model(model),
    tools: await guarded.tools(tools),
    inputGuardrails: [guarded.inputGuardrail],
  });
};
const ask = async (guard: Guard, model: Mock, tools: ReturnType<typeof mail>[] = [], prompt = 'Read my mail.') => {
  const { callModelInputFilter } = guardAgents(guard);
  return (await run(await agentOf(guard, model, tools), prompt, { callModelInputFilter, maxTurns: 12 })).finalOutput;
};

matrix('OpenAI Agents', '@openai/agents', {
  async 'clean run'() {
    const model = new Mock({ q: 'today' }, 'done');
    expect(await ask(rules(), model, [mail(async () => BENIGN)])).toBe('done');
    expect(model.lastOutput).toEqual({ type: 'text', text: BENIGN });
  },
  async 'user text'() {
    const model = new Mock('hi');
    const error = await ask(rules(), model, [], ATTACK).catch((thrown) => thrown);
    expect(error.constructor.name).toBe('InputGuardrailTripwireTriggered');
    expect(error.result.output.outputInfo.evidenceId).toMatch(/^ev_/);
    expect(String(error) + JSON.stringify(error.result.output)).not.toContain('Ignore all');
    expect(model.asked).toEqual([]);
  },
  async 'tool result'() {
    const model = new Mock({ q: 'today' }, 'done');
    expect(await ask(rules(), model, [mail(async () => ATTACK)])).toBe('done');
    expect(model.seen).toContain('removed by portcullis');
    expect(model.seen).not.toContain(ATTACK);
    for (const action of ['stop', 'throw'] as const) {
      const ended = ask(rules({ on: { tool_result: action } }), new Mock({ q: 'x' }, 'done'), [
        mail(async () => ATTACK),
      ]);
      // The host wraps what a guardrail of a tool throws.
      await expect(ended).rejects.toMatchObject({
        name: 'ToolCallError',
        error: { name: 'ToolOutputGuardrailTripwireTriggered' },
      });
    }
    // Without the tool's guardrails the filter sees it.
    const bare = new Mock({ q: 'today' }, 'done');
    const { callModelInputFilter } = guardAgents(rules());
    await run(new Agent({ name: 'a', model: bare, tools: [mail(async () => ATTACK)] }), 'Read.', {
      callModelInputFilter,
    });
    expect(bare.seen).not.toContain(ATTACK);
    // So does the wrapped model.
    const wrapped = new Mock({ q: 'today' }, 'done');
    const { model: guarded } = guardAgents(rules());
    await run(new Agent({ name: 'a', model: guarded(wrapped), tools: [mail(async () => ATTACK)] }), 'Read.');
    expect([wrapped.asked.length, wrapped.seen.includes(ATTACK)]).toEqual([2, false]);
  },
  async 'failed tool'() {
    for (const [message, isShown] of [
      [ATTACK, false],
      ['no such mailbox', true],
    ] as const) {
      const model = new Mock({ q: 'today' }, 'done');
      const failing = mail(
        async () => {
          throw new Error(message);
        },
        { errorFunction: (_: unknown, error: Error) => `Failed: ${error.message}` },
      );
      await ask(rules(), model, [failing]);
      expect(model.seen.includes(message)).toBe(isShown);
    }
  },
  async 'tool argument'() {
    let ran = 0;
    const sending = mail(async () => {
      ran += 1;
      return 'sent';
    });
    const model = new Mock({ q: ATTACK }, 'done');
    expect(await ask(rules(), model, [sending])).toBe('done');
    expect(model.seen).toContain('denied by portcullis');
    expect(ran).toBe(0);
    const guard = rules({ on: { tool_call: 'ask' } });
    const agent = await agentOf(guard, new Mock({ q: ATTACK }, 'done'), [sending]);
    const first = await run(agent, 'Send it.');
    expect([first.interruptions.length, ran]).toEqual([1, 0]);
    first.state.approve(first.interruptions[0]!);
    await run(agent, first.state);
    expect(ran).toBe(1);
  },
  async 'tool definition'() {
    const tools = await guardAgents(rules()).tools([
      mail(async () => 'x', { description: `Reads the mail. ${ATTACK}` }),
      mail(async () => 'x', { name: 'clock' }),
    ]);
    expect(tools.map(({ name }) => name)).toEqual(['clock']);
  },
  async streaming() {
    const model = new Mock({ q: 'today' }, 'done');
    const guard = rules();
    const stream = await run(await agentOf(guard, model, [mail(async () => ATTACK)]), 'Read.', { stream: true });
    const events: string[] = [];
    for await (const event of stream) events.push(JSON.stringify(event));
    expect(model.seen).not.toContain(ATTACK);
    expect(stream.finalOutput).toBe('done');
    const refused = await run(await agentOf(guard, new Mock('hi')), ATTACK, { stream: true });
    await expect(refused.completed).rejects.toThrow();
  },
  async 'engine error'() {
    const model = new Mock('hi');
    await expect(ask(createGuard({ engine: broken }), model)).rejects.toThrow();
    expect(model.asked).toEqual([]);
    expect(await ask(createGuard({ engine: broken, onError: 'allow' }), model)).toBe('hi');
  },
  async timeout() {
    const model = new Mock('hi');
    const error = await ask(createGuard({ engine: hanging, timeoutMs: 20 }), model).catch((thrown) => thrown);
    expect(error.result.output.outputInfo.cause).toBe('timeout');
    expect(model.asked).toEqual([]);
  },
  async redact() {
    const guard = rules({ on: { tool_result: 'redact', user: 'redact' } });
    const model = new Mock({ q: 'today' }, 'done');
    const { callModelInputFilter, tools } = guardAgents(guard);
    const agent = new Agent({ name: 'a', model, tools: await tools([mail(async () => MIXED)]) });
    await run(agent, MIXED, { callModelInputFilter });
    expect(model.seen).not.toContain('Ignore all previous');
    expect(model.seen.split(`${BENIGN} [removed]`).length).toBe(4);
  },
  async 'cache hit'() {
    const engine = counting();
    const steps = Array.from({ length: 9 }, (_, index) => ({ q: `mail ${index}` }));
    let count = 0;
    await ask(createGuard({ engine }), new Mock(...steps, 'done'), [mail(async () => `${BENIGN} ${count++}`)]);
    expect(engine.twice()).toEqual([]);
    // The prompt, nine calls with their results, the definition, and the eight joints between two results.
    expect(engine.asked.length).toBe(28);
  },
  abort: 'no: its guardrails get no signal; the deadline holds',
});

it.each(['approve', 'reject'] as const)('OpenAI Agents: a value from data needs approval: %s', async (answer) => {
  const ran: string[] = [];
  const guard = rules({ on: { flow: { foreign: 'ask' } }, tools: { mail: { effect: 'send' } } });
  const writing = mail((async ({ q }: { q: string }) => {
    ran.push(q);
    return 'Eve: eve@evil.example';
  }) as never);
  const eve = 'eve@evil.example';
  const model = new Mock({ q: 'contacts' }, { q: eve }, { q: eve }, 'done');
  const agent = await agentOf(guard, model, [writing]);
  const first = await run(agent, 'Write to Eve.', { context: {} });
  expect([first.interruptions.length, ran]).toEqual([1, ['contacts']]);
  first.state[answer](first.interruptions[0]!);
  const next = await run(agent, first.state);
  // The same call, made once more, is another question.
  expect([next.interruptions.length, ran]).toEqual([1, answer === 'approve' ? ['contacts', eve] : ['contacts']]);
});

/** An MCP server as the SDK knows it, with state of its own. */
class Server implements MCPServer {
  readonly name = 'mcp';
  readonly cacheToolsList = false;
  readonly #tools = ['mail', 'clock'];
  async connect() {}
  async close() {}
  async invalidateToolsCache() {}
  async listTools() {
    const inputSchema = { type: 'object' as const, properties: {}, required: [], additionalProperties: false };
    return this.#tools.map((name) => ({
      name,
      description: name === 'mail' ? ATTACK : 'Tells the time.',
      inputSchema,
    }));
  }
  async callTool() {
    return [{ type: 'text' as const, text: ATTACK }];
  }
}

it('an MCP server: poisoned definitions are left out, results are screened', async () => {
  const model = new Mock({}, 'done');
  const { mcpServer } = guardAgents(rules());
  const server: MCPServer = mcpServer(new Server());
  await run(new Agent({ name: 'a', model, mcpServers: [server] }), 'What time is it?').catch(() => undefined);
  expect(model.asked[0]!.tools.map(({ name }) => name)).toEqual(['clock']);
  expect(JSON.stringify(model.asked)).not.toContain(ATTACK);
  expect(server.toolInputGuardrails?.length).toBe(1);
  expect(server.toolOutputGuardrails?.length).toBe(1);
});

it('a refused text of an earlier turn becomes the note, and later turns go on', async () => {
  const model = new Mock('done');
  const { callModelInputFilter, inputGuardrail } = guardAgents(rules());
  const agent = new Agent({ name: 'a', model, inputGuardrails: [inputGuardrail] });
  const history = [
    { role: 'user' as const, content: ATTACK },
    {
      role: 'assistant' as const,
      status: 'completed' as const,
      content: [{ type: 'output_text' as const, text: 'I was stopped.' }],
    },
    { role: 'user' as const, content: BENIGN },
  ];
  expect((await run(agent, history, { callModelInputFilter })).finalOutput).toBe('done');
  expect(model.seen).toContain('refused by portcullis');
  expect(model.seen).not.toContain(ATTACK);
});
