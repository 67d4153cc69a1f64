import { generateText, type LanguageModel, tool, wrapLanguageModel } from 'ai';
import { createEngine } from 'portcullis';
import { guardModel, guardTools } from 'portcullis/ai-sdk';
import { createGuard } from 'portcullis/policy';
import { z } from 'zod';

const guard = createGuard({ engine: createEngine(), on: { tool_result: 'redact' } });

const tools = guardTools(guard, {
  readPage: tool({
    description: 'Reads a web page.',
    inputSchema: z.object({ url: z.string() }),
    execute: async ({ url }) => (await fetch(url)).text(),
  }),
});

export function answer(model: Exclude<LanguageModel, string>, prompt: string): Promise<string> {
  return guard.inRun(async () => {
    const guarded = wrapLanguageModel({ model: model as never, middleware: guardModel(guard) });
    const { text } = await generateText({ model: guarded, tools, prompt, stopWhen: ({ steps }) => steps.length === 5 });
    return text;
  });
}
