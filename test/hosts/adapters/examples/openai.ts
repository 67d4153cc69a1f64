import OpenAI from 'openai';
import { createEngine } from 'portcullis';
import { guardFetch } from 'portcullis/openai';
import { createGuard, guardFunction } from 'portcullis/policy';

const guard = createGuard({ engine: createEngine() });

/** A tool of your own loop: arguments, results and failures are screened. */
export const readPage: (url: string) => Promise<string> = guardFunction(guard, 'read_page', async (url: string) =>
  (await fetch(url)).text(),
);

export async function answer(provider: typeof fetch, prompt: string): Promise<string> {
  const client = new OpenAI({ apiKey: process.env.OPENAI_API_KEY ?? 'none', fetch: guardFetch(guard, provider) });
  const { choices } = await client.chat.completions.create({
    model: 'gpt-5',
    messages: [{ role: 'user', content: prompt }],
  });
  return choices[0]?.message.content ?? '';
}
