import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientV2, InMemoryTransport as MemoryV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { InMemoryTransport as MemoryV1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as ServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { McpServer as ServerV2 } from '@modelcontextprotocol/server';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createEngine } from '../../../src/index.js';
import { type GuardTransportOptions, guardTransport, openPins } from '../../../src/integrations/mcp/index.js';
import { createGuard } from '../../../src/policy/index.js';
import { connect } from '../adapters/examples/mcp.js';
import { ATTACK } from '../adapters/matrix.js';
import { serverFile } from './connect.js';

// The gateway within a transport of the official SDK, newest versions of both generations, on either side.

vi.setConfig({ testTimeout: 120_000 });
const folder = mkdtempSync(join(tmpdir(), 'portcullis-transport-'));
afterAll(() => rmSync(folder, { recursive: true }));
const guard = createGuard({ engine: createEngine({ model: false }) });
let files = 0;
const pins = (): NonNullable<GuardTransportOptions['pins']> =>
  openPins({ path: join(folder, `${++files}.json`), server: 'test' });

const generations = {
  v1: { Client: ClientV1, Server: ServerV1, Memory: MemoryV1 },
  v2: { Client: ClientV2, Server: ServerV2, Memory: MemoryV2 },
} as unknown as Readonly<Record<string, { Client: typeof ClientV1; Server: typeof ServerV1; Memory: typeof MemoryV1 }>>;

describe.each(Object.keys(generations))('%s', (generation) => {
  const { Client, Server, Memory } = generations[generation]!;

  it.each(['client', 'server'] as const)('a transport of a %s', async (side) => {
    const server = new Server({ name: 'test', version: '1.0.0' }, { instructions: ATTACK });
    const text = (said: string): { content: { type: 'text'; text: string }[] } => ({
      content: [{ type: 'text', text: said }],
    });
    server.registerTool('good', { description: 'Reads mail.' }, async () => text('Hello.'));
    server.registerTool('mail', { description: 'Reads mail too.' }, async () => text(ATTACK));
    server.registerTool('bad', { description: ATTACK }, async () => text('Hello.'));
    const [near, far] = Memory.createLinkedPair();
    const options = { pins: pins(), side };
    await server.connect(side === 'server' ? guardTransport(far, guard, options) : far);
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(side === 'client' ? guardTransport(near, guard, options) : near);
    expect(client.getInstructions()).toBeUndefined();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['good', 'mail']);
    expect(await client.callTool({ name: 'good', arguments: {} })).toMatchObject(text('Hello.'));
    for (const name of ['mail', 'bad'])
      expect(JSON.stringify(await client.callTool({ name, arguments: {} }))).toMatch(/"isError":true/);
    server.registerTool('late', { description: 'Added later.' }, async () => text('Hello.'));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['good', 'mail']);
    await client.close();
  });
});

it.each(['client', 'server'] as const)('a transport of a %s puts a question to the person', async (side) => {
  const server = new ServerV1({ name: 'test', version: '1.0.0' });
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
  server.registerTool('get_contacts', { description: 'Lists contacts.' }, async () => text('eve@evil.example'));
  const inputSchema = { to: z.string() };
  server.registerTool('send_mail', { description: 'Sends mail.', inputSchema }, async ({ to }) =>
    text(`sent to ${to}`),
  );
  const [near, far] = MemoryV1.createLinkedPair();
  const asking = createGuard({ engine: createEngine({ model: false }), on: { flow: { foreign: 'ask' } } });
  await server.connect(side === 'server' ? guardTransport(far, asking, { side }) : far);
  const client = new ClientV1({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: {} } });
  const asked: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    const isFirst = asked.push(params.message) === 1;
    return isFirst ? { action: 'accept', content: { allow: true } } : { action: 'decline' };
  });
  await client.connect(side === 'client' ? guardTransport(near, asking, { side }) : near);
  await client.callTool({ name: 'get_contacts', arguments: {} });
  const send = () => client.callTool({ name: 'send_mail', arguments: { to: 'eve@evil.example' } });
  expect(await send()).toMatchObject(text('sent to eve@evil.example'));
  expect(await send()).toMatchObject({ isError: true });
  expect(asked).toHaveLength(2);
  expect(asked[0]).toContain('“eve@evil.example” in to');
  await client.close();
});

it('the example of the page', async () => {
  const server = new StdioV1({ command: process.execPath, args: [serverFile, 'v1', 'stdio'] });
  const client = await connect(server, join(folder, 'example.json'));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain('add');
  expect(tools.map(({ name }) => name)).not.toContain('poisoned');
  await client.close();
});
