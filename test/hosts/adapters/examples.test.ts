import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fakeModel } from '@langchain/core/testing';
import { Usage } from '@openai/agents';
import { MockLanguageModelV4 } from 'ai/test';
import { MockLanguageModelV3 } from 'ai-6/test';
import { AIMessage } from 'langchain';
import { describe, expect, it } from 'vitest';
import * as aiSdk from './examples/ai-sdk.js';
import * as anthropic from './examples/anthropic.js';
import { app } from './examples/http.js';
import * as langchain from './examples/langchain.js';
import * as mastra from './examples/mastra.js';
import * as openai from './examples/openai.js';
import * as agents from './examples/openai-agents.js';
import { ATTACK, BENIGN } from './matrix.js';

const names = readdirSync(new URL('examples', import.meta.url)).map((file) => file.replace(/\.ts$/, ''));

describe('pages of docs/hosts', () => {
  it.each(names)('%s has its example as it is', (name) => {
    const page = new URL(`../../../docs/hosts/${name}.md`, import.meta.url);
    expect(existsSync(page)).toBe(true);
    const example = readFileSync(new URL(`examples/${name}.ts`, import.meta.url), 'utf8');
    expect(readFileSync(page, 'utf8')).toContain(`\`\`\`ts\n${example}\`\`\``);
  });
});

/** Every example with a mock model that says `done`. The Claude Agent SDK runs in its own test. */
const examples: Readonly<Record<string, (prompt: string) => Promise<string>>> = {
  'ai-sdk': (prompt) => {
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const content = [{ type: 'text', text: 'done' }];
    const finishReason = { unified: 'stop', raw: undefined };
    const model = new MockLanguageModelV4({ doGenerate: { content, finishReason, usage, warnings: [] } as never });
    return aiSdk.answer(model, prompt);
  },
  langchain: (prompt) => langchain.answer(fakeModel().respond(new AIMessage('done')) as never, prompt),
  mastra: (prompt) => {
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const content = [{ type: 'text', text: 'done' }];
    const finishReason = { unified: 'stop', raw: undefined };
    const model = new MockLanguageModelV3({ doGenerate: { content, finishReason, usage, warnings: [] } as never });
    return mastra.answer(model, prompt);
  },
  'openai-agents': (prompt) => {
    const part = { type: 'output_text', text: 'done' };
    const output = [{ type: 'message', role: 'assistant', status: 'completed', content: [part] }];
    const model = { getResponse: async () => ({ usage: new Usage(), output }), getStreamedResponse: () => undefined };
    return agents.answer(model as never, prompt).catch(String);
  },
  openai: (prompt) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'done' }, finish_reason: 'stop' }];
    return openai.answer(async () => Response.json({ choices }), prompt);
  },
  anthropic: (prompt) =>
    anthropic.answer(async () => Response.json({ content: [{ type: 'text', text: 'done' }] }), prompt),
  http: async (prompt) => {
    const body = JSON.stringify({ message: { text: prompt } });
    const reply = await app.request('/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return reply.status === 200 ? 'done' : `${reply.status} portcullis`;
  },
};

it.each(Object.entries(examples))('%s: the example answers a question and stops an attack', async (_, ask) => {
  expect(await ask(BENIGN)).toBe('done');
  expect(await ask(ATTACK)).toMatch(/portcullis|InputGuardrailTripwireTriggered/);
});
