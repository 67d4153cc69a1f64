import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { createEngine } from 'portcullis';
import { guardProcessor, guardTools } from 'portcullis/mastra';
import { createGuard } from 'portcullis/policy';
import { z } from 'zod';

const guard = createGuard({ engine: createEngine(), on: { tool_result: 'redact' } });

const tools = guardTools(guard, {
  readPage: createTool({
    id: 'read-page',
    description: 'Reads a web page.',
    inputSchema: z.object({ url: z.string() }),
    execute: async ({ url }) => (await fetch(url)).text(),
  }),
});

const processors = [guardProcessor(guard)];

export async function answer(model: ConstructorParameters<typeof Agent>[0]['model'], prompt: string): Promise<string> {
  const agent = new Agent({
    id: 'reader',
    name: 'Reader',
    instructions: 'Help the user.',
    model,
    tools,
    inputProcessors: processors,
    outputProcessors: processors,
  });
  const { text, tripwire } = await guard.inRun(() => agent.generate(prompt));
  return tripwire?.reason ?? text;
}
