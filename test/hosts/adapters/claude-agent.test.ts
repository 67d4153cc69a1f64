import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { query } from '@anthropic-ai/claude-agent-sdk';
import { afterAll, expect } from 'vitest';
import { guardHooks } from '../../../src/integrations/claude-agent/index.js';
import { createGuard, type Guard } from '../../../src/policy/index.js';
import { messagesApi, type Step } from '../messages-api.js';
import { ATTACK, BENIGN, broken, counting, hanging, MIXED, matrix } from './matrix.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-claude-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return name;
};
const rules = (options: Parameters<typeof createGuard>[0] = {}) => createGuard({ engine: counting(), ...options });
const bash = (command: string): Step => ({ name: 'Bash', input: { command } });

/** Runs Claude Code against a mock of its API; what the model was shown, and how the run ended. */
const ask = async (guard: Guard, steps: readonly Step[], prompt = 'go') => {
  const api = await messagesApi(steps);
  let end = '';
  try {
    const options = {
      hooks: guardHooks(guard),
      cwd: folder,
      allowedTools: ['Read', 'Bash'],
      settingSources: [],
      maxTurns: 12,
      model: 'claude-sonnet-4-5',
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        CLAUDE_CONFIG_DIR: join(folder, '.claude'),
        ANTHROPIC_BASE_URL: api.url,
        ANTHROPIC_API_KEY: 'sk-ant-not-a-key',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    };
    for await (const message of query({ prompt, options })) {
      if (message.type === 'result') end = 'result' in message ? message.result : message.subtype;
    }
  } catch (error) {
    end = String(error);
  }
  api.close();
  const calls = api.requests.filter(({ tools }) => tools !== undefined && tools.length > 0);
  const results = calls
    .flatMap(({ messages }) => messages)
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type === 'tool_result');
  return {
    end,
    calls: calls.length,
    seen: JSON.stringify(calls.map(({ messages }) => messages)),
    results: JSON.stringify(results),
  };
};

matrix('Claude Agent SDK', '@anthropic-ai/claude-agent-sdk', {
  async 'clean run'() {
    const { end, results } = await ask(rules(), [bash(`cat ${file('ok.txt', BENIGN)}`), 'done']);
    expect(end).toBe('done');
    expect(results).toContain(BENIGN);
  },
  async 'user text'() {
    const { calls, seen } = await ask(rules(), ['hi'], ATTACK);
    expect(calls).toBe(0);
    expect(seen).not.toContain('Ignore all');
  },
  async 'tool result'() {
    const name = file('evil.txt', ATTACK);
    const run = await ask(rules(), [bash(`cat ${name}`), 'done']);
    expect([run.end, run.results.includes('removed by portcullis'), run.seen.includes('Ignore all')]).toEqual([
      'done',
      true,
      false,
    ]);
    const read = await ask(rules(), [{ name: 'Read', input: { file_path: join(folder, name) } }, 'done']);
    expect([read.results.includes('removed by portcullis'), read.seen.includes('Ignore all')]).toEqual([true, false]);
    const stopped = await ask(rules({ on: { tool_result: 'stop' } }), [bash(`cat ${name}`), 'done']);
    expect([stopped.calls, stopped.seen.includes('Ignore all')]).toEqual([1, false]);
  },
  async 'failed tool'() {
    const { calls, seen } = await ask(rules(), [bash(`cat ${file('evil.txt', ATTACK)}; exit 3`), 'done']);
    expect([calls, seen.includes('Ignore all')]).toEqual([1, false]);
    const benign = await ask(rules(), [bash('echo no such mailbox; exit 3'), 'done']);
    expect([benign.end, benign.results.includes('no such mailbox')]).toEqual(['done', true]);
  },
  async 'tool argument'() {
    const { end, results } = await ask(rules(), [bash(`echo "${ATTACK}" > written.txt`), 'done']);
    expect(end).toBe('done');
    expect(results).toContain('denied by portcullis');
  },
  'tool definition': 'no: the host has no such hook; see `mcp-proxy`',
  streaming: 'as without: Claude Code always streams',
  async 'engine error'() {
    expect((await ask(createGuard({ engine: broken }), ['hi'])).calls).toBe(0);
    expect((await ask(createGuard({ engine: broken, onError: 'allow' }), ['hi'])).end).toBe('hi');
  },
  async timeout() {
    expect((await ask(createGuard({ engine: hanging, timeoutMs: 50 }), ['hi'])).calls).toBe(0);
  },
  async redact() {
    const guard = rules({ on: { tool_result: 'redact' } });
    const { results, seen } = await ask(guard, [bash(`cat ${file('mixed.txt', MIXED)}`), 'done']);
    expect(results).toContain(`${BENIGN} [removed]`);
    expect(seen).not.toContain('Ignore all');
  },
  async 'cache hit'() {
    const engine = counting();
    const steps = Array.from({ length: 9 }, (_, index) => bash(`echo mail ${index}`));
    const { end } = await ask(createGuard({ engine }), [...steps, 'done']);
    expect(end).toBe('done');
    expect(engine.twice()).toEqual([]);
    expect(engine.asked.length).toBe(19);
  },
  abort: 'no: the host goes on with a prompt whose hook it aborts',
});
