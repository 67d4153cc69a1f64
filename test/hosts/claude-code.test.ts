import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { query } from '@anthropic-ai/claude-agent-sdk';
import { afterAll, expect, it } from 'vitest';
import { KEY, testApp } from '../service/test-app.js';
import { ATTACK, BENIGN } from './adapters/matrix.js';
import { messagesApi, type Step } from './messages-api.js';

// Claude Code itself with the settings that `portcullis hook install` writes.

const main = join(process.cwd(), 'dist', 'cli', 'main.js');
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function ask(
  install: readonly string[],
  steps: readonly Step[],
  prompt = 'go',
  env: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-claude-code-'));
  folders.push(folder);
  mkdirSync(join(folder, '.claude'));
  writeFileSync(join(folder, 'evil.txt'), ATTACK);
  writeFileSync(join(folder, 'ok.txt'), BENIGN);
  const installed = spawnSync(process.execPath, [main, 'hook', 'install', '--yes', ...install], { cwd: folder });
  expect(installed.status).toBe(0);
  const api = await messagesApi(steps);
  let end = '';
  try {
    const options = {
      cwd: folder,
      allowedTools: ['Bash'],
      settingSources: ['project' as const],
      maxTurns: 5,
      model: 'claude-sonnet-4-5',
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        CLAUDE_CONFIG_DIR: join(folder, '.own'),
        ANTHROPIC_BASE_URL: api.url,
        ANTHROPIC_API_KEY: 'sk-ant-not-a-key',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        ...env,
      },
    };
    for await (const message of query({ prompt, options }))
      if (message.type === 'result') end = 'result' in message ? message.result : message.subtype;
  } catch (error) {
    end = String(error);
  }
  api.close();
  const calls = api.requests.filter(({ tools }) => tools !== undefined && tools.length > 0);
  return { end, calls: calls.length, seen: JSON.stringify(calls.map(({ messages }) => messages)) };
}
const cat = (file: string, then = ''): readonly Step[] => [
  { name: 'Bash', input: { command: `cat ${file}${then}` } },
  'done',
];

it.each(['command', 'http'])(
  '%s hooks: benign text arrives, an attack is refused, denied, replaced or stops the run',
  async (kind) => {
    const { app, store } = await testApp();
    await app.listen({ port: 0, host: '127.0.0.1' });
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const install = kind === 'http' ? ['--service', url] : [];
    const env = { PORTCULLIS_API_KEY: KEY };
    const clean = await ask(install, cat('ok.txt'), 'go', env);
    expect([clean.end, clean.seen.includes(BENIGN)]).toEqual(['done', true]);
    const prompt = await ask(install, ['hi'], ATTACK, env);
    expect(prompt.calls).toBe(0);
    const call = await ask(install, [{ name: 'Bash', input: { command: `echo "${ATTACK}" > x` } }, 'done'], 'go', env);
    expect([call.end, call.seen.includes('denied by portcullis')]).toEqual(['done', true]);
    const result = await ask(install, cat('evil.txt'), 'go', env);
    expect([result.end, result.seen.includes('removed by portcullis'), result.seen.includes('Ignore all')]).toEqual([
      'done',
      true,
      false,
    ]);
    const failed = await ask(install, cat('evil.txt', '; exit 3'), 'go', env);
    expect([failed.calls, failed.seen.includes('Ignore all')]).toEqual([1, false]);
    if (kind === 'http') expect(store.records.size).toBeGreaterThan(8);
    await app.close();
  },
  300_000,
);

it('a service that is down, refuses the key or fails: no raw result reaches the model', async () => {
  const { app, store } = await testApp();
  await app.listen({ port: 0, host: '127.0.0.1' });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  expect((await ask(['--service', url], ['hi'], 'go', { PORTCULLIS_API_KEY: 'svc_live_wrong' })).calls).toBe(0);
  store.fail(true);
  expect((await ask(['--service', url], ['hi'], 'go', { PORTCULLIS_API_KEY: KEY })).calls).toBe(0);
  await app.close();
  expect((await ask(['--service', url], ['hi'], 'go', { PORTCULLIS_API_KEY: KEY })).calls).toBe(0);
}, 120_000);
