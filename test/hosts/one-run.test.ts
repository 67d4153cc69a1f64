import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateText, jsonSchema, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createClient } from '../../src/client.js';
import { guardModel, guardTools } from '../../src/integrations/ai-sdk/index.js';
import { createGuard, type GuardEvent } from '../../src/policy/index.js';
import { runCli } from '../cli/run-cli.js';
import { killServices, type ServiceProcess, shownKey, startService } from '../service/service-process.js';
import { ATTACK } from './adapters/matrix.js';
import { connectStdio, main, serverFile } from './mcp/connect.js';

// An agent and its MCP gateway over one running service: one run id, and every evidence id stands in the dashboard.

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const folder = mkdtempSync(join(tmpdir(), 'portcullis-run-'));
let service: ServiceProcess;
beforeAll(async () => {
  service = await startService(['--data', join(folder, 'data'), '--mode', 'rules', '--scorers', '1']);
});
afterAll(() => {
  killServices();
  rmSync(folder, { recursive: true, force: true });
});

/** Reads the dashboard's API as the owner of the first account. */
async function dashboard(): Promise<(path: string) => Promise<unknown>> {
  const [, email, password] = /: (\S+@\S+) password (\S+)/.exec(service.output()) ?? [];
  const api = `${service.url}/dashboard/api`;
  const signedIn = await fetch(`${api}/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: service.url },
    body: JSON.stringify({ email, password }),
  });
  expect(signedIn.status).toBe(200);
  const cookie = String(signedIn.headers.get('set-cookie')).split(';')[0] ?? '';
  return async (path) => {
    const reply = await fetch(`${api}${path}`, { headers: { cookie } });
    expect([path, reply.status]).toEqual([path, 200]);
    return reply.json();
  };
}

it('the model, the tools and the MCP server of a run share its id; the service has the evidence of each', async () => {
  const apiKey = shownKey(service);
  const report = join(folder, 'report.jsonl');
  const { client, stderr, close } = await connectStdio(
    'v2, 2026-07-28',
    [
      ...[main, 'mcp-proxy', '--service', service.url, '--pins', join(folder, 'pins.json'), '--name', 'test'],
      ...['--report', report, '--', process.execPath, serverFile, 'v2', 'stdio'],
    ],
    { PORTCULLIS_API_KEY: apiKey },
  );
  const events: GuardEvent[] = [];
  const guard = createGuard({
    client: createClient({ baseUrl: service.url, apiKey }),
    report: (event) => events.push(event),
  });
  const mail = tool({
    description: 'Reads the mail.',
    inputSchema: jsonSchema<object>({ type: 'object' }),
    execute: async (): Promise<unknown> =>
      client.callTool({ name: 'mail', arguments: {}, _meta: { 'portcullis/runId': guard.runId } }),
  });
  const notes = tool({
    description: 'Reads the notes.',
    inputSchema: jsonSchema<object>({ type: 'object' }),
    execute: async () => `Tea. ${ATTACK}`,
  });
  const calls = ['mail', 'notes'];
  let step = 0;
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const model = new MockLanguageModelV4({
    doGenerate: (async () => {
      const toolName = calls[step++];
      const content =
        toolName === undefined
          ? { type: 'text', text: 'done' }
          : { type: 'tool-call', toolCallId: `c${step}`, toolName, input: '{}' };
      const unified = toolName === undefined ? 'stop' : 'tool-calls';
      return { content: [content], finishReason: { unified, raw: undefined }, usage, warnings: [] };
    }) as never,
  });
  const { text } = await guard.inRun(
    () =>
      generateText({
        model: wrapLanguageModel({ model, middleware: guardModel(guard) as never }),
        tools: guardTools(guard, { mail, notes }),
        stopWhen: ({ steps }) => steps.length === 5,
        prompt: 'What is in my mail and my notes?',
      }),
    'run_of-the-agent',
  );
  const { tools } = await client.listTools();
  await close();
  expect(text).toBe('done');
  expect(tools.map(({ name }) => name)).not.toContain('poisoned');
  expect(JSON.stringify(model.doGenerateCalls.map(({ prompt }) => prompt))).not.toContain('Ignore all');

  const reported = readFileSync(report, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GuardEvent);
  const ofMail = reported.find(({ tool: name, point }) => name === 'mail' && point === 'tool_result');
  expect(ofMail).toMatchObject({ runId: 'run_of-the-agent', action: 'replace' });
  expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set(['run_of-the-agent']));
  expect(events.filter(({ verdict }) => verdict === 'block')).toMatchObject([{ tool: 'notes', point: 'tool_result' }]);
  expect(stderr()).not.toContain(apiKey);

  const read = await dashboard();
  const blocked = [...reported, ...events].filter(({ verdict }) => verdict === 'block');
  expect(blocked.length).toBeGreaterThanOrEqual(3);
  for (const { evidenceId, rule } of blocked)
    expect(await read(`/evidence/${evidenceId}`)).toMatchObject({
      record: { id: evidenceId, verdict: { verdict: 'block', rule } },
    });
  const { records } = (await read('/evidence?verdict=block')) as { records: { id: string }[] };
  expect(records.map(({ id }) => id)).toContain(ofMail?.evidenceId);
});

it.each([
  ['does not answer', () => 'http://127.0.0.1:9', () => shownKey(service), 'the service could not be reached'],
  ['refuses the key', () => service.url, () => 'svc_live_not-a-key', 'key'],
])('the gateway fails closed where the service %s, and says so', (_, url, key, reason) => {
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const call = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'mail', arguments: {} } });
  const { stdout, stderr } = runCli(
    [
      ...['mcp-proxy', '--service', url(), '--key', key(), '--no-pins', '--timeout', '5000', '--'],
      ...[process.execPath, serverFile, 'v1', 'stdio'],
    ],
    `${hello}\n${call}\n`,
    60_000,
  );
  expect(stdout).toContain('could not be screened');
  expect(stdout).not.toContain('Adds numbers');
  expect(stderr).toContain(`portcullis: screening at ${url()} fails: `);
  expect(stderr).toContain(reason);
});

it('a tool that changes under way stands in the audit log of the dashboard, without its new definition', async () => {
  const apiKey = shownKey(service);
  const { client, close } = await connectStdio(
    'v1',
    [
      ...[main, 'mcp-proxy', '--service', service.url, '--pins', join(folder, 'pulled.json'), '--name', 'pulled'],
      ...['--', process.execPath, serverFile, 'v1', 'stdio'],
    ],
    { PORTCULLIS_API_KEY: apiKey, PORTCULLIS_RUN_ID: 'run_of-the-pull' },
  );
  await client.listTools();
  await client.callTool({ name: 'evolve', arguments: {} });
  const { tools } = await client.listTools();
  await client.callTool({ name: 'add', arguments: { a: '1' } });
  await close();
  expect(tools.map(({ name }) => name)).not.toContain('add');
  const read = await dashboard();
  const entries = await vi.waitFor(async () => {
    const page = (await read('/audit?action=tool')) as { entries: { detail: object }[] };
    expect(page.entries).toHaveLength(2);
    return page.entries;
  });
  expect(entries.map(({ detail }) => detail)).toEqual(
    expect.arrayContaining([
      { action: 'hide', run: 'run_of-the-pull' },
      { action: 'deny', run: 'run_of-the-pull' },
    ]),
  );
  for (const entry of entries)
    expect(entry).toMatchObject({
      action: 'tool.changed',
      target: 'pulled add',
      actor: expect.stringMatching(/^key /),
    });
  expect(JSON.stringify(entries)).not.toContain('something else');
});
