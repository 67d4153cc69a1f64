import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CallToolResult,
  Client,
  type ContentBlock,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioClientTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as StreamableHTTPClientTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';

export const root: string = join(import.meta.dirname, '..', '..', '..');
export const main: string = join(root, 'dist', 'cli', 'main.js');
export const serverFile: string = join(import.meta.dirname, 'server.mjs');
export const everything: string = join(
  root,
  'test/hosts/node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);

/** Which SDK the client is of, and for the newer one which protocol it speaks. */
export type Generation = 'v1' | 'v2, 2025-11-25' | 'v2, 2026-07-28';
export const GENERATIONS: readonly Generation[] = ['v1', 'v2, 2025-11-25', 'v2, 2026-07-28'];

/** What the tests use of a client; both generations have it. */
export interface TestClient {
  readonly client: Client;
  /** What the gateway and the server wrote to standard error. */
  stderr(): string;
  close(): Promise<void>;
}

export interface ServerProcess {
  readonly url: string;
  stderr(): string;
  stop(): Promise<void>;
}

/** Closes something at the end of the test, however that ends. */
export function closing<T extends { close(): Promise<void> }>(each: T): T {
  onTestFinished(() => each.close());
  return each;
}

function newClient(generation: Generation, capabilities: object): Client {
  const info = { name: 'test', version: '1.0.0' };
  // The calls that the tests make are the same in both.
  if (generation === 'v1') return new ClientV1(info, { capabilities }) as unknown as Client;
  const mode = generation === 'v2, 2026-07-28' ? { pin: '2026-07-28' } : ('legacy' as const);
  return new Client(info, { capabilities, versionNegotiation: { mode } });
}

/** Starts a command and connects a client to its standard input and output. */
export async function connectStdio(
  generation: Generation,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  capabilities: object = {},
): Promise<TestClient> {
  const client = newClient(generation, capabilities);
  const inherited = process.env as Record<string, string>;
  const parameters = {
    command: process.execPath,
    args: [...args],
    env: { ...inherited, ...env },
    stderr: 'pipe' as const,
  };
  const transport = generation === 'v1' ? new StdioClientTransportV1(parameters) : new StdioClientTransport(parameters);
  let said = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await client.connect(transport as StdioClientTransport, { timeout: 60_000 });
  return { client, stderr: () => said, close: () => client.close() };
}

export async function connectHttp(generation: Generation, url: string, capabilities: object = {}): Promise<TestClient> {
  const client = newClient(generation, capabilities);
  const transport =
    generation === 'v1'
      ? new StreamableHTTPClientTransportV1(new URL(url))
      : new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport as StreamableHTTPClientTransport, { timeout: 60_000 });
  return { client, stderr: () => '', close: () => client.close() };
}

/** Starts a program that prints its URL in its first line. */
export async function startHttp(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const child: ChildProcess = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const url = await new Promise<string>((resolve, reject) => {
    let out = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      const found = /https?:\/\/\S+/.exec(out)?.[0];
      if (found !== undefined && out.includes('\n')) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`exit code ${code}: ${said}`)));
  });
  return {
    url,
    stderr: () => said,
    stop: async () => {
      if (child.exitCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}

/** The path of a file for pins that isn't there yet. */
export function freshPins(): string {
  return join(mkdtempSync(join(tmpdir(), 'portcullis-pins-')), 'pins.json');
}

/** The command of a gateway by the rules alone, up to where it says what it stands before. */
export function proxyArgs(pins: string, ...more: readonly string[]): string[] {
  return [main, 'mcp-proxy', '--mode', 'rules', '--pins', pins, '--name', 'test', ...more];
}

export function textOf(result: unknown): string {
  return (result as CallToolResult).content
    .map((block: ContentBlock) => ('text' in block ? block.text : block.type))
    .join('\n');
}

export async function namesOf(client: { listTools(): Promise<{ tools: { name: string }[] }> }): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

/** Which of the two servers a client of this generation talks to. */
export function serverOf(generation: Generation): string {
  return generation.slice(0, 2);
}
