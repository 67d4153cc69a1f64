import * as langchain from 'langchain';
import { createEngine } from 'portcullis';
import { guardMiddleware } from 'portcullis/langchain';
import { createGuard } from 'portcullis/policy';
import { z } from 'zod';

const guard = createGuard({ engine: createEngine(), on: { tool_result: 'redact' } });

const readPage = langchain.tool(async ({ url }: { url: string }) => (await fetch(url)).text(), {
  name: 'read_page',
  description: 'Reads a web page.',
  schema: z.object({ url: z.string() }),
});

export async function answer(
  model: NonNullable<Parameters<typeof langchain.createAgent>[0]['model']>,
  prompt: string,
): Promise<string> {
  const agent = langchain.createAgent({ model, tools: [readPage], middleware: [guardMiddleware(guard, langchain)] });
  const { messages } = await agent.invoke({ messages: [new langchain.HumanMessage(prompt)] });
  return messages.at(-1)?.text ?? '';
}
