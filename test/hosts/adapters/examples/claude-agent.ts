import { type Options, query } from '@anthropic-ai/claude-agent-sdk';
import { createEngine } from 'portcullis';
import { guardHooks } from 'portcullis/claude-agent';
import { createGuard } from 'portcullis/policy';

const guard = createGuard({ engine: createEngine() });

export async function answer(prompt: string, options: Options = {}): Promise<string> {
  let text = '';
  for await (const message of query({ prompt, options: { ...options, hooks: guardHooks(guard) } })) {
    if (message.type === 'result' && message.subtype === 'success') text = message.result;
  }
  return text;
}
