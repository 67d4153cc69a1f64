import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, describe, expect, it, vi } from 'vitest';
import {
  closing,
  connectHttp,
  connectStdio,
  freshPins,
  GENERATIONS,
  type Generation,
  proxyArgs,
  serverFile,
  serverOf,
  startHttp,
  textOf,
} from './connect.js';

// What the gateway, as a process of its own, asks the person behind an official client.

vi.setConfig({ testTimeout: 120_000 });
const folder = mkdtempSync(join(tmpdir(), 'portcullis-mcp-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a question to the person behind the client', () => {
  const policy = join(folder, 'ask.json');
  writeFileSync(policy, JSON.stringify({ on: { flow: { suspicious: 'ask', foreign: 'ask' } } }));
  const able = { elicitation: {} };
  const asks =
    'portcullis asks: May send_mail (send) use “eve@evil.example” in to, from the result of get_contacts? The user never gave this.';

  /** Has the client answer what it is asked; what the person reads, and what the calls come to. */
  async function calls(
    { client }: Awaited<ReturnType<typeof connectStdio>>,
    generation: Generation,
    ...answers: readonly object[]
  ): Promise<{ readonly asked: readonly string[]; readonly results: readonly string[] }> {
    const asked: string[] = [];
    const answer = async ({ params }: { params: { message: string } }): Promise<object> =>
      answers[asked.push(params.message) - 1] ?? { action: 'cancel' };
    const method = generation === 'v1' ? ElicitRequestSchema : 'elicitation/create';
    (client.setRequestHandler as (method: unknown, handler: unknown) => void)(method, answer);
    await client.callTool({ name: 'get_contacts', arguments: {} });
    const results: string[] = [];
    for (let at = 0; at <= answers.length; at += 1)
      results.push(textOf(await client.callTool({ name: 'send_mail', arguments: { to: 'eve@evil.example' } })));
    return { asked, results };
  }

  it.each(GENERATIONS)('is put over stdio by a client of %s, once for each call', async (generation) => {
    const server = [process.execPath, serverFile, serverOf(generation), 'stdio'];
    const args = [...proxyArgs(freshPins(), '--policy', policy), '--', ...server];
    const through = closing(await connectStdio(generation, args, {}, able));
    const allow = { action: 'accept', content: { allow: true } };
    const { asked, results } = await calls(through, generation, allow, { action: 'decline' }, allow);
    const denied = expect.stringMatching(/^\[denied by portcullis/);
    const sent = 'sent to eve@evil.example';
    expect(asked).toEqual([asks, asks, asks, asks]);
    expect(results).toEqual([sent, denied, sent, denied]);
    const unable = closing(await connectStdio(generation, args));
    await unable.client.callTool({ name: 'get_contacts', arguments: {} });
    const refused = await unable.client.callTool({ name: 'send_mail', arguments: { to: 'eve@evil.example' } });
    expect(textOf(refused)).toEqual(denied);
  });

  it.each<[Generation, string, Record<string, string>]>([
    ['v1', 'v1', {}],
    ['v1', 'v1', { JSON_RESPONSES: '1' }],
    ['v2, 2025-11-25', 'v1', {}],
    ['v2, 2026-07-28', 'v2', {}],
  ])('is put over HTTP by a client of %s with a server of %s in %j', async (generation, version, env) => {
    const server = await startHttp([serverFile, version, 'http'], env);
    const args = [...proxyArgs(freshPins(), '--policy', policy), '--url', server.url, '--port', '0'];
    const proxy = await startHttp(args);
    try {
      const through = closing(await connectHttp(generation, proxy.url, able));
      const { asked, results } = await calls(through, generation, { action: 'accept', content: { allow: true } });
      expect(asked).toEqual([asks, asks]);
      expect(results).toEqual(['sent to eve@evil.example', expect.stringMatching(/^\[denied by portcullis/)]);
    } finally {
      await proxy.stop();
      await server.stop();
    }
  });
});
