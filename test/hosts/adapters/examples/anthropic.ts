import Anthropic from '@anthropic-ai/sdk';
import { createEngine } from 'portcullis';
import { guardMiddleware } from 'portcullis/anthropic';
import { createGuard } from 'portcullis/policy';

const guard = createGuard({ engine: createEngine() });

export async function answer(provider: typeof fetch, prompt: string): Promise<string> {
  const client = new Anthropic({
    apiKey: process.env.ANTHROPIC_API_KEY ?? 'none',
    fetch: provider,
    middleware: [guardMiddleware(guard)],
  });
  const { content } = await client.messages.create({
    model: 'claude-opus-5',
    max_tokens: 1_024,
    messages: [{ role: 'user', content: prompt }],
  });
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
