import { Agent, type Model, Runner, tool } from '@openai/agents';
import { createEngine } from 'portcullis';
import { guardAgents } from 'portcullis/openai-agents';
import { createGuard } from 'portcullis/policy';
import { z } from 'zod';

const guard = createGuard({ engine: createEngine() });
const guarded = guardAgents(guard);

const readPage = tool({
  name: 'read_page',
  description: 'Reads a web page.',
  parameters: z.object({ url: z.string() }),
  execute: async ({ url }) => (await fetch(url)).text(),
});

export async function answer(model: Model, prompt: string): Promise<string> {
  const agent = new Agent({
    name: 'Reader',
    instructions: 'Answer from the pages you read.',
    model: guarded.model(model),
    tools: await guarded.tools([readPage]),
    inputGuardrails: [guarded.inputGuardrail],
  });
  const { callModelInputFilter } = guarded;
  const { finalOutput } = await new Runner({ callModelInputFilter }).run(agent, prompt);
  return finalOutput ?? '';
}
