import * as ai7 from 'ai';
import * as test7 from 'ai/test';
import * as ai6 from 'ai-6';
import * as test6 from 'ai-6/test';
import { expect, it } from 'vitest';
import { guardModel, guardTools } from '../../../src/integrations/ai-sdk/index.js';
import { createGuard, type Guard, type GuardOptions } from '../../../src/policy/index.js';
import { ATTACK, BENIGN, broken, counting, hanging, MIXED, matrix } from './matrix.js';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
type Step = string | Readonly<Record<string, unknown>>;

const versions = [
  { label: 'AI SDK 7', name: 'ai', ai: ai7, Model: test7.MockLanguageModelV4, spec: 'v4' as const },
  {
    label: 'AI SDK 6',
    name: 'ai-6',
    ai: ai6 as unknown as typeof ai7,
    Model: test6.MockLanguageModelV3 as unknown as typeof test7.MockLanguageModelV4,
    spec: 'v3' as const,
  },
];

for (const { label, name, ai, Model, spec } of versions) {
  const { generateText, streamText, wrapLanguageModel, tool, jsonSchema } = ai;
  const stopWhen = ({ steps }: { steps: readonly unknown[] }): boolean => steps.length === 12;

  /** A model that says these steps one after another: a text, or a call of the tool `mail` with these arguments. */
  const mock = (...steps: readonly Step[]) => {
    let at = 0;
    const next = () => {
      const index = at++;
      const step = steps[Math.min(index, steps.length - 1)]!;
      return typeof step === 'string'
        ? { content: [{ type: 'text', text: step }], reason: 'stop' }
        : {
            content: [{ type: 'tool-call', toolCallId: `c${index}`, toolName: 'mail', input: JSON.stringify(step) }],
            reason: 'tool-calls',
          };
    };
    return new Model({
      doGenerate: (async () => {
        const { content, reason } = next();
        return { content, finishReason: { unified: reason, raw: undefined }, usage, warnings: [] };
      }) as never,
      doStream: (async () => {
        const { content, reason } = next();
        const parts = content.flatMap((part): readonly object[] =>
          part.type === 'text'
            ? [
                { type: 'text-start', id: 't' },
                { type: 'text-delta', id: 't', delta: (part as { text: string }).text },
                { type: 'text-end', id: 't' },
              ]
            : [part],
        );
        const finish = { type: 'finish', finishReason: { unified: reason, raw: undefined }, usage };
        return {
          stream: test7.convertArrayToReadableStream([{ type: 'stream-start', warnings: [] }, ...parts, finish]),
        };
      }) as never,
    });
  };
  type Mock = ReturnType<typeof mock>;
  const promptsOf = (model: Mock): string[] =>
    [...model.doGenerateCalls, ...model.doStreamCalls].map(({ prompt }) => JSON.stringify(prompt));
  const lastOutput = (model: Mock): unknown => {
    const parts = model.doGenerateCalls.at(-1)!.prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    return (parts.at(-1) as { output: unknown }).output;
  };

  const mail = (execute: (input: never, options: never) => unknown, extra: object = {}) =>
    ({
      mail: tool({
        description: 'Reads the mail.',
        inputSchema: jsonSchema({ type: 'object', properties: { q: { type: 'string' } } }),
        execute: execute as never,
        ...extra,
      }),
    }) as never as ai7.ToolSet;

  const setUp = (options: GuardOptions = {}) => {
    const engine = counting();
    const events: string[] = [];
    const guard = createGuard({ engine, report: ({ action, runId }) => events.push(`${runId} ${action}`), ...options });
    return { engine, guard, events };
  };
  const wrap = (guard: Guard, model: Mock) =>
    wrapLanguageModel({ model, middleware: guardModel(guard, { specificationVersion: spec }) as never });
  const ask = (guard: Guard, model: Mock, tools: ai7.ToolSet, prompt = 'Read my mail.') =>
    generateText({ model: wrap(guard, model), tools: guardTools(guard, tools), stopWhen: stopWhen as never, prompt });

  matrix(label, name, {
    async 'clean run'() {
      const { guard } = setUp();
      const model = mock({ q: 'today' }, 'done');
      const { text } = await ask(
        guard,
        model,
        mail(async () => ({ body: BENIGN })),
      );
      expect(text).toBe('done');
      expect(lastOutput(model)).toEqual({ type: 'json', value: { body: BENIGN } });
    },
    async 'user text'() {
      const { guard } = setUp();
      const model = mock('hi');
      const refused = await ask(guard, model, {}, ATTACK);
      expect(refused.finishReason).toBe('content-filter');
      expect(refused.text).toMatch(/^\[refused by portcullis: .* evidence=ev_[0-9a-f]{24}\]$/);
      const throwing = setUp({ on: { user: 'throw' } }).guard;
      await expect(ask(throwing, model, {}, ATTACK)).rejects.toMatchObject({ name: 'PortcullisBlocked' });
      expect(model.doGenerateCalls).toEqual([]);
    },
    async 'tool result'() {
      const { guard } = setUp();
      const model = mock({ q: 'today' }, 'done');
      await ask(
        guard,
        model,
        mail(async () => ({ body: ATTACK })),
      );
      expect(promptsOf(model).join()).not.toContain(ATTACK);
      expect(JSON.stringify(lastOutput(model))).toContain('removed by portcullis');
      // Without the wrapper, and from toModelOutput and generators.
      const bare = mock({ q: 'today' }, 'done');
      await generateText({
        model: wrap(guard, bare),
        tools: mail(async () => ({ body: ATTACK })),
        stopWhen: stopWhen as never,
        prompt: 'x',
      });
      expect(promptsOf(bare).join()).not.toContain(ATTACK);
      for (const tools of [
        mail(async () => 1, { toModelOutput: () => ({ type: 'content', value: [{ type: 'text', text: ATTACK }] }) }),
        mail(async function* () {
          yield 'part';
          yield ATTACK;
        } as never),
      ]) {
        const other = mock({ q: 'today' }, 'done');
        const { steps } = await generateText({
          model: other,
          tools: guardTools(guard, tools),
          stopWhen: stopWhen as never,
          prompt: 'x',
        });
        expect(promptsOf(other).join()).not.toContain(ATTACK);
        expect(JSON.stringify(lastOutput(other))).toContain('removed by portcullis');
        expect(steps.length).toBe(2);
      }
      // `stop` makes no further call, `throw` rejects.
      const stopping = mock({ q: 'today' }, 'done');
      const stopped = await ask(
        setUp({ on: { tool_result: 'stop' } }).guard,
        stopping,
        mail(async () => ATTACK),
      );
      expect([stopped.finishReason, stopping.doGenerateCalls.length]).toEqual(['content-filter', 1]);
      const throwing = ask(
        setUp({ on: { tool_result: 'throw' } }).guard,
        mock({ q: 'x' }, 'done'),
        mail(async () => ATTACK),
      );
      await expect(throwing).rejects.toMatchObject({ name: 'PortcullisBlocked' });
    },
    async 'failed tool'() {
      const { guard } = setUp();
      for (const [message, isShown] of [
        [ATTACK, false],
        ['no such mailbox', true],
      ] as const) {
        const model = mock({ q: 'today' }, 'done');
        await ask(
          guard,
          model,
          mail(async () => {
            throw new Error(message);
          }),
        );
        expect(promptsOf(model).join().includes(message)).toBe(isShown);
        expect(JSON.stringify(lastOutput(model)).includes('removed by portcullis')).toBe(!isShown);
      }
    },
    async 'tool argument'() {
      const { guard } = setUp();
      let ran = 0;
      const tools = mail(async () => {
        ran += 1;
        return 'sent';
      });
      const model = mock({ q: ATTACK }, 'done');
      const { text } = await ask(guard, model, tools);
      expect([text, ran]).toEqual(['done', 0]);
      expect(JSON.stringify(lastOutput(model))).toContain('denied by portcullis');
      // `ask`: no run before the approval, one after it.
      const asking = setUp({ on: { tool_call: 'ask' } }).guard;
      const asked = mock({ q: ATTACK }, 'done');
      const messages: unknown[] = [{ role: 'user', content: 'Send it.' }];
      const options = { model: wrap(asking, asked), tools: guardTools(asking, tools), stopWhen: stopWhen as never };
      const first = await generateText({ ...options, messages: messages as never });
      const request = first.content.find(({ type }) => type === 'tool-approval-request') as { approvalId: string };
      expect(ran).toBe(0);
      const { messages: responses } = first.response;
      const approval = { type: 'tool-approval-response', approvalId: request.approvalId, approved: true };
      const next = [...messages, ...responses, { role: 'tool', content: [approval] }];
      await generateText({ ...options, messages: next as never });
      expect(ran).toBe(1);
    },
    async 'tool definition'() {
      const { guard } = setUp();
      const model = mock('done');
      const poisoned = mail(async () => 'x', { description: `Reads the mail. ${ATTACK}` });
      const clean = { clock: mail(async () => 'x').mail! };
      await ask(guard, model, { ...poisoned, ...clean });
      expect(model.doGenerateCalls[0]!.tools!.map(({ name }) => name)).toEqual(['clock']);
    },
    async streaming() {
      const { guard } = setUp();
      const refused = streamText({ model: wrap(guard, mock('hi')), prompt: ATTACK });
      expect(await refused.text).toContain('refused by portcullis');
      expect(await refused.finishReason).toBe('content-filter');
      const model = mock({ q: 'today' }, 'done');
      const tools = guardTools(
        guard,
        mail(async () => ATTACK),
      );
      const stream = streamText({ model: wrap(guard, model), tools, stopWhen: stopWhen as never, prompt: 'Read.' });
      const parts: string[] = [];
      for await (const part of stream.fullStream) parts.push(JSON.stringify(part));
      expect(parts.join()).not.toContain(ATTACK);
      expect(promptsOf(model).join()).not.toContain(ATTACK);
      expect(await stream.text).toBe('done');
    },
    async 'engine error'() {
      const model = mock('hi');
      const closed = await ask(createGuard({ engine: broken }), model, {});
      expect([closed.finishReason, model.doGenerateCalls.length]).toEqual(['content-filter', 0]);
      const open = await ask(createGuard({ engine: broken, onError: 'allow' }), model, {});
      expect(open.text).toBe('hi');
    },
    async timeout() {
      const model = mock('hi');
      const closed = await ask(createGuard({ engine: hanging, timeoutMs: 20 }), model, {});
      expect(closed.text).toContain('could not be screened in time');
      expect(model.doGenerateCalls.length).toBe(0);
    },
    async redact() {
      const { guard } = setUp({ on: { tool_result: 'redact' } });
      const model = mock({ q: 'today' }, 'done');
      await ask(
        guard,
        model,
        mail(async () => ({ id: 7, body: MIXED })),
      );
      const { value } = lastOutput(model) as { value: { id: number; body: string } };
      expect(value.id).toBe(7);
      expect(value.body).toContain(BENIGN);
      expect(value.body).toContain('[removed]');
      expect(promptsOf(model).join()).not.toContain('Ignore all previous');
    },
    async 'cache hit'() {
      const { guard, engine, events } = setUp();
      const steps = Array.from({ length: 9 }, (_, index) => ({ q: `mail ${index}` }));
      let count = 0;
      const tools = mail(async () => ({ body: `${BENIGN} ${count++}` }));
      await guard.inRun(() => ask(guard, mock(...steps, 'done'), tools));
      expect(engine.twice()).toEqual([]);
      // The definition, the question, nine arguments, nine results, and the eight joints between them.
      expect(engine.asked.length).toBe(28);
      expect(new Set(events.map((event) => event.split(' ')[0])).size).toBe(1);
    },
    async abort() {
      const model = mock('hi');
      const controller = new AbortController();
      const run = generateText({
        model: wrap(createGuard({ engine: hanging }), model),
        prompt: 'Hello',
        abortSignal: controller.signal,
      });
      setTimeout(() => controller.abort(), 10);
      await expect(run).rejects.toMatchObject({ name: 'AbortError' });
      expect(model.doGenerateCalls.length).toBe(0);
    },
  });

  it(`${label}: results of tools that the provider runs, and text files`, async () => {
    const { guard } = setUp();
    const web = { toolCallId: 'w', toolName: 'web' };
    const model = new Model({
      doGenerate: (async () => ({
        content: [
          { type: 'tool-call', ...web, input: '{}', providerExecuted: true, dynamic: true },
          { type: 'tool-result', ...web, result: { page: ATTACK }, dynamic: true },
          { type: 'text', text: 'ok' },
        ],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      })) as never,
    });
    const file = { type: 'file', mediaType: 'text/plain', data: Buffer.from(ATTACK).toString('base64') };
    const { content } = await generateText({
      model: wrap(guard, model),
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Sum it up.' }, file] }] as never,
    });
    expect(JSON.stringify(content)).not.toContain(ATTACK);
    expect(promptsOf(model)[0]).toContain('removed by portcullis');
    expect(promptsOf(model)[0]).not.toContain(file.data);
  });

  it(`${label}: a turn that was refused doesn't refuse the next one`, async () => {
    const model = mock('Rain.');
    const messages = [
      { role: 'user', content: ATTACK },
      { role: 'assistant', content: 'No.' },
      { role: 'user', content: 'How is the weather?' },
    ];
    const { text } = await generateText({ model: wrap(setUp().guard, model), messages: messages as never });
    expect(text).toBe('Rain.');
    expect(promptsOf(model)[0]).toContain('refused by portcullis');
    expect(promptsOf(model)[0]).not.toContain(ATTACK);
  });

  it.each(['application/yaml', 'application/octet-stream', 'image/svg+xml', 'application/pdf'])(
    `${label}: a file of %s that is text`,
    async (mediaType) => {
      const model = mock('ok');
      const content = [
        { type: 'text', text: 'Sum it up.' },
        { type: 'file', mediaType, data: new TextEncoder().encode(ATTACK) },
      ];
      await generateText({ model: wrap(setUp().guard, model), messages: [{ role: 'user', content }] as never });
      const shown = model.doGenerateCalls[0]!.prompt.flatMap(({ content: parts }) => parts as readonly object[]);
      expect(shown).toMatchObject([{ type: 'text' }, { type: 'text', text: expect.stringContaining('removed by') }]);
    },
  );

  it(`${label}: a text file among what a tool shows, and examples of its input`, async () => {
    const encoded = Buffer.from(ATTACK).toString('base64');
    const file =
      spec === 'v3'
        ? { type: 'file-data', mediaType: 'text/plain', data: encoded }
        : { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: encoded } };
    const value = [{ type: 'text', text: 'See the file.' }, file];
    const model = mock({ q: 'today' }, 'done');
    const shows = mail(async () => 1, { toModelOutput: () => ({ type: 'content', value }) });
    const { guard } = setUp();
    await ask(guard, model, shows);
    expect(promptsOf(model).join()).not.toContain(encoded.slice(0, 40));
    // Without the wrapper the prompt is screened all the same.
    const bare = mock({ q: 'today' }, 'done');
    await generateText({ model: wrap(guard, bare), tools: shows, stopWhen: stopWhen as never, prompt: 'Read.' });
    expect(promptsOf(bare).join()).not.toContain(encoded.slice(0, 40));
    const examples = mock('done');
    await ask(
      guard,
      examples,
      mail(async () => 1, { inputExamples: [{ input: { q: ATTACK } }] }),
    );
    expect(examples.doGenerateCalls[0]!.tools ?? []).toEqual([]);
  });

  it(`${label}: a plain function that returns an iterable keeps its preliminary results`, async () => {
    const { guard } = setUp();
    const outputsOf = async (execute: () => unknown): Promise<unknown[]> => {
      const model = wrap(guard, mock({ q: 'today' }, 'done'));
      const tools = guardTools(guard, mail(execute));
      const outputs: unknown[] = [];
      const { fullStream } = streamText({ model, tools, stopWhen: stopWhen as never, prompt: 'Read.' });
      for await (const part of fullStream) {
        if (part.type === 'tool-result') outputs.push([part.output, part.preliminary ?? false]);
      }
      return outputs;
    };
    async function* parts(): AsyncGenerator<string> {
      yield 'one';
      yield 'two';
    }
    const expected = [
      ['one', true],
      ['two', true],
      ['two', false],
    ];
    expect(await outputsOf(() => parts())).toEqual(expected);
    expect(await outputsOf(parts)).toEqual(expected);
    expect(await outputsOf(async () => 'one')).toEqual([['one', false]]);
  });
}
