import { readFileSync } from 'node:fs';
import { generateText, jsonSchema, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, it } from 'vitest';
import { createEngine } from '../../../src/index.js';
import { guardModel, guardTools } from '../../../src/integrations/ai-sdk/index.js';
import { createGuard } from '../../../src/policy/index.js';
import { counting } from './matrix.js';

// An agent that reads 60 mails, one a step: 30 with an attack of our own texts planted in them, 30 benign.

const root = new URL('../../..', import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const lines = (path: string): string[] => textOf(path).split('\n').filter(Boolean);
const engine = createEngine({ model: false });

const attacks = [
  ...lines('bench/texts/attacks.txt'),
  ...lines('test/regression/attacks.jsonl').map((line) => (JSON.parse(line) as { text: string }).text),
];
const benign = lines('bench/texts/benign.txt').slice(0, 30);

it('of 30 planted attacks none that is blocked reaches the model; 30 benign mails arrive unchanged', async () => {
  const mailOf = (attack: string, index: number) => ({
    id: index,
    body: `${benign[index % benign.length]} ${attack} Best, Kim`,
  });
  const isBlocked = (mail: object): boolean =>
    engine.scan(mail as never, { channel: 'tool_result' }).verdict === 'block';
  // Most are such as the rules block, so that the test can fail; the others show that they pass as they are.
  const planted = attacks.map(mailOf);
  const blocked = planted.filter(isBlocked).slice(0, 24);
  const passing = planted.filter((mail) => !isBlocked(mail)).slice(0, 30 - blocked.length);
  expect(blocked.length).toBeGreaterThanOrEqual(20);
  expect(blocked.length + passing.length).toBe(30);
  const clean = benign.map((body, index) => ({ id: 100 + index, body }));
  expect(clean.some(isBlocked)).toBe(false);
  const mails: readonly { id: number; body: string }[] = [...blocked, ...passing, ...clean];

  let step = 0;
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const model = new MockLanguageModelV4({
    doGenerate: (async () => {
      const index = step++;
      const content =
        index < mails.length
          ? { type: 'tool-call', toolCallId: `c${index}`, toolName: 'read_mail', input: JSON.stringify({ index }) }
          : { type: 'text', text: 'done' };
      const unified = index < mails.length ? 'tool-calls' : 'stop';
      return { content: [content], finishReason: { unified, raw: undefined }, usage, warnings: [] };
    }) as never,
  });
  const analyzer = counting();
  const guard = createGuard({ engine: analyzer });
  const read_mail = tool({
    description: 'Reads a mail.',
    inputSchema: jsonSchema<{ index: number }>({ type: 'object', properties: { index: { type: 'number' } } }),
    execute: async ({ index }) => mails[index]!,
  });
  const { text } = await guard.inRun(() =>
    generateText({
      model: wrapLanguageModel({ model, middleware: guardModel(guard) as never }),
      tools: guardTools(guard, { read_mail }),
      stopWhen: ({ steps }) => steps.length > mails.length,
      prompt: 'Read all my mails.',
    }),
  );
  expect(text).toBe('done');

  const prompts = JSON.stringify(model.doGenerateCalls.map(({ prompt }) => prompt));
  for (const { body } of blocked) expect(prompts).not.toContain(JSON.stringify(body).slice(1, -1));
  const last = model.doGenerateCalls.at(-1)!.prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
  const outputs = last.map((part) => (part as { output: { type: string; value: unknown } }).output);
  expect(outputs.length).toBe(mails.length);
  for (const output of outputs.slice(0, blocked.length))
    expect(JSON.stringify(output)).toContain('removed by portcullis');
  expect(outputs.slice(blocked.length).map(({ value }) => value)).toEqual([...passing, ...clean]);
  expect(analyzer.twice()).toEqual([]);
}, 120_000);
