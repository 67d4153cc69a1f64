import { readFileSync, writeFileSync } from 'node:fs';
import { OpenTelemetry } from '@ai-sdk/otel';
import { generateText, jsonSchema, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { afterAll, expect, it, vi } from 'vitest';
import { createEngine } from '../../src/index.js';
import { guardModel, guardTools } from '../../src/integrations/ai-sdk/index.js';
import { instrument } from '../../src/opentelemetry.js';
import { createGuard } from '../../src/policy/index.js';
import { collect, type Span } from '../opentelemetry/collector.js';
import { ATTACK, BENIGN } from './adapters/matrix.js';
import { drawTrace } from './trace-picture.js';

// The AI SDK's own telemetry and the guard's in one trace. UPDATE_TRACE=1 draws the picture of docs/opentelemetry.md anew.

vi.setConfig({ testTimeout: 120_000 });
const PICTURE = new URL('../../docs/opentelemetry-trace.svg', import.meta.url);
const collector = collect();
const engine = createEngine({ model: false });
afterAll(() => collector.sdk.shutdown());

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const input = jsonSchema<object>({ type: 'object' });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A run of an agent that reads its mail, which is an attack, and its notes, which are not. */
async function runAgent(): Promise<readonly Span[]> {
  const guard = instrument(createGuard({ engine }));
  const calls = ['read_mail', 'read_notes'];
  let step = 0;
  const model = new MockLanguageModelV4({
    modelId: 'mock-model',
    doGenerate: (async () => {
      const toolName = calls[step++];
      await pause(10);
      const content =
        toolName === undefined
          ? { type: 'text', text: 'done' }
          : { type: 'tool-call', toolCallId: `c${step}`, toolName, input: '{"folder":"inbox"}' };
      const unified = toolName === undefined ? 'stop' : 'tool-calls';
      return { content: [content], finishReason: { unified, raw: undefined }, usage, warnings: [] };
    }) as never,
  });
  const reads = (text: string) => async (): Promise<string> => {
    await pause(5);
    return text;
  };
  const { text } = await generateText({
    model: wrapLanguageModel({ model, middleware: guardModel(guard) as never }),
    tools: guardTools(guard, {
      read_mail: tool({ description: 'Reads the mail.', inputSchema: input, execute: reads(`Dear team. ${ATTACK}`) }),
      read_notes: tool({ description: 'Reads the notes.', inputSchema: input, execute: reads(BENIGN) }),
    }),
    stopWhen: ({ steps }) => steps.length === 5,
    prompt: 'What is in my mail and my notes?',
    telemetry: { integrations: new OpenTelemetry(), recordInputs: false, recordOutputs: false },
  });
  expect(text).toBe('done');
  return collector.spans();
}

it('the AI SDK: our spans are children of its tool and model spans, in one trace', async () => {
  // Once before, so that the engine has compiled its patterns, and the picture shows times of a long-lived process.
  await runAgent();
  const spans = await runAgent();
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  const ours = spans
    .filter(({ instrumentationScope }) => instrumentationScope.name === 'portcullis')
    .map(({ parentSpanContext, attributes }) => [
      byId.get(parentSpanContext?.spanId ?? '')?.name,
      attributes['gen_ai.security.target.type'],
      attributes['gen_ai.security.decision.type'],
    ]);
  expect(ours).toContainEqual(['chat mock-model', 'llm_input', 'allow']);
  expect(ours).toContainEqual(['execute_tool read_mail', 'tool_call', 'allow']);
  expect(ours).toContainEqual(['execute_tool read_mail', 'tool_output', 'deny']);
  expect(ours).toContainEqual(['execute_tool read_notes', 'tool_output', 'allow']);
  expect(ours.filter(([, , decision]) => decision === 'deny').length).toBe(1);
  const denied = spans.find(({ attributes }) => attributes['gen_ai.security.decision.type'] === 'deny');
  expect(denied?.events.length).toBeGreaterThan(1);
  expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toContain('Ignore all');

  if (process.env.UPDATE_TRACE === '1') writeFileSync(PICTURE, drawTrace(spans));
  const picture = readFileSync(PICTURE, 'utf8');
  for (const { name } of spans) expect(picture).toContain(name);
});
