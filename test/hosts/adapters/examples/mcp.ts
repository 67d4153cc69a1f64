import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { guardTransport, openPins } from 'portcullis/mcp';
import { createGuard } from 'portcullis/policy';

const guard = createGuard();

/** Connects to a server, e.g. with `new StdioClientTransport({ command: 'node', args: ['server.js'] })`. */
export async function connect(transport: Transport, path: string): Promise<Client> {
  const pins = openPins({ path, server: 'files' });
  const client = new Client({ name: 'my-agent', version: '1.0.0' });
  await client.connect(guardTransport(transport, guard, { pins, report: (event) => console.error(event) }));
  return client;
}
