import Anthropic from '@anthropic-ai/sdk';
import { AIMessage as CoreMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { Agent, type Model, Runner, Usage } from '@openai/agents';
import { generateText, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import * as langchain from 'langchain';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { guardModel } from '../../src/integrations/ai-sdk/index.js';
import { guardMiddleware as guardAnthropic } from '../../src/integrations/anthropic/index.js';
import { guardMiddleware as guardLangChain } from '../../src/integrations/langchain/index.js';
import { guardFetch } from '../../src/integrations/openai/index.js';
import { guardAgents } from '../../src/integrations/openai-agents/index.js';
import { createGuard, type Guard } from '../../src/policy/index.js';
import { counting } from './adapters/matrix.js';
import { mastraAgent } from './mastra-agent.js';
import { HONEST, history, items, LEAK, MAIL, SAID, toolCalls, usage } from './read-mail.js';

// What a model answers after it read a mail: each host shows no way out that only the mail opened.

/** Answers of a model that says a text, as each host's user sees them. */
const hosts: Readonly<Record<string, (guard: Guard, says: string) => Promise<string>>> = {
  async 'AI SDK'(guard, says) {
    const mock = new MockLanguageModelV4({ doGenerate: generateOf(says) as never });
    const { text } = await generateText({
      model: wrapLanguageModel({ model: mock, middleware: guardModel(guard) }),
      messages: history,
    });
    return text;
  },
  async 'OpenAI, chat'(guard, says) {
    const message = { role: 'assistant', content: says };
    const reply = { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
    const { choices } = await openAi(guard, reply).chat.completions.create({
      model: 'm',
      messages: [
        { role: 'user', content: SAID },
        { role: 'assistant', content: null, tool_calls: toolCalls },
        { role: 'tool', tool_call_id: 't', content: MAIL },
      ],
    });
    return String(choices[0]?.message.content);
  },
  async 'OpenAI, responses'(guard, says) {
    const content = [{ type: 'output_text', text: says, annotations: [] }];
    const reply = { id: 'r', object: 'response', output: [{ type: 'message', role: 'assistant', content }] };
    const { output_text } = await openAi(guard, reply).responses.create({
      model: 'm',
      input: [
        { role: 'user', content: SAID },
        { type: 'function_call', call_id: 't', name: 'mail', arguments: '{}' },
        { type: 'function_call_output', call_id: 't', output: MAIL },
      ],
    });
    return output_text;
  },
  async Anthropic(guard, says) {
    const content = [{ type: 'text', text: says }];
    const reply = { id: 'a', type: 'message', role: 'assistant', content, stop_reason: 'end_turn' };
    const client = new Anthropic({
      ...{ apiKey: 'x', baseURL: 'http://anthropic.test', fetch: async () => Response.json(reply) },
      middleware: [guardAnthropic(guard)],
    });
    const answer = await client.messages.create({
      ...{ model: 'm', max_tokens: 10 },
      messages: [
        { role: 'user', content: SAID },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'mail', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: MAIL }] },
      ],
    });
    return (answer.content[0] as Anthropic.TextBlock).text;
  },
  async LangChain(guard, says) {
    const model = fakeModel();
    model.respond(new CoreMessage(says));
    const agent = langchain.createAgent({
      ...{ model: model as never, tools: [] },
      middleware: [guardLangChain(guard, langchain)],
    });
    const { messages } = await agent.invoke({
      messages: [
        new HumanMessage(SAID),
        new CoreMessage({ content: '', tool_calls: [{ id: 't', name: 'mail', args: {} }] }),
        new ToolMessage({ tool_call_id: 't', content: MAIL }),
      ],
    });
    return messages.at(-1)?.text ?? '';
  },
  async Mastra(guard, says) {
    const agent = mastraAgent(guard, { doGenerate: generateOf(says) });
    const { text, response } = await agent.generate(history as never);
    expect(JSON.stringify(response.messages)).toContain(JSON.stringify(text));
    return text;
  },
  async 'OpenAI Agents'(guard, says) {
    const content = [{ type: 'output_text' as const, text: says }];
    const output = [{ type: 'message' as const, role: 'assistant' as const, status: 'completed' as const, content }];
    const model: Pick<Model, 'getResponse'> = { getResponse: async () => ({ usage: new Usage(), output }) };
    const { callModelInputFilter, model: guarded } = guardAgents(guard);
    const agent = new Agent({ name: 'a', model: guarded(model as Model) });
    const { finalOutput } = await new Runner({ callModelInputFilter, tracingDisabled: true }).run(agent, items);
    return finalOutput ?? '';
  },
};

/** The answer of a model of the AI SDK. */
function generateOf(says: string): () => Promise<object> {
  return async () => ({
    content: [{ type: 'text', text: says }],
    ...{ finishReason: { unified: 'stop', raw: undefined }, usage, warnings: [] },
  });
}

function openAi(guard: Guard, reply: object): OpenAI {
  const provider = async (): Promise<Response> => Response.json(reply);
  return new OpenAI({ apiKey: 'x', baseURL: 'http://openai.test/v1', fetch: guardFetch(guard, provider) });
}

describe.each(Object.entries(hosts))('%s', (_, answer) => {
  it('cuts the target of an image that only a tool result named', async () => {
    const shown = await answer(createGuard({ engine: counting() }), LEAK);
    expect(shown.replace(/\[removed by portcullis: [^\]]*\]/, '[…]')).toBe(`${HONEST}![c]([…]) Done.`);
  });

  it('shows an honest answer as it is', async () => {
    expect(await answer(createGuard({ engine: counting() }), HONEST)).toBe(HONEST);
  });

  it('shows the note alone for `deny`, and everything for `off`', async () => {
    const denying = createGuard({ engine: counting(), on: { output: 'deny' } });
    expect(await answer(denying, LEAK)).toMatch(/^\[removed by portcullis: [^\]]*\]$/);
    expect(await answer(createGuard({ engine: counting(), on: { output: 'off' } }), LEAK)).toBe(LEAK);
  });
});

it('cuts the same of the older Completions of OpenAI', async () => {
  const guard = createGuard({ engine: counting() });
  const reply = { id: 'c', object: 'text_completion', choices: [{ index: 0, text: LEAK, finish_reason: 'stop' }] };
  await guard.inRun(async () => {
    await guard.screen('tool_result', MAIL, { tool: 'mail' });
    const { choices } = await openAi(guard, reply).completions.create({ model: 'm', prompt: SAID });
    expect(choices[0]?.text).toMatch(/!\[c\]\(\[removed by portcullis/);
  });
});
