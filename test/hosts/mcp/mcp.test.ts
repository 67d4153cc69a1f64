import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { describe, expect, it, vi } from 'vitest';
import { runCli, runCommand } from '../../cli/run-cli.js';
import { ATTACK } from '../adapters/matrix.js';
import {
  closing,
  connectHttp,
  connectStdio,
  everything,
  freshPins,
  GENERATIONS,
  main,
  namesOf,
  proxyArgs,
  root,
  serverFile,
  serverOf,
  startHttp,
  textOf,
} from './connect.js';

// The gateway between the official SDK's clients and servers of both generations, each as a process of its own.

vi.setConfig({ testTimeout: 120_000 });

/** What every transport and generation has to show. */
async function expectScreened(client: Awaited<ReturnType<typeof connectStdio>>['client']): Promise<void> {
  expect(client.getInstructions()).toBeUndefined();
  const tools = await namesOf(client);
  expect(tools).toContain('add');
  expect(tools).not.toContain('poisoned');

  const call = async (name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> =>
    (await client.callTool({ name, arguments: args })) as CallToolResult;
  expect(textOf(await call('add', { a: '7' }))).toBe('got 7');
  for (const [name, args] of [
    ['add', { a: ATTACK }],
    ['mail', {}],
    ['fails', {}],
    ['structured', {}],
    ['linked', {}],
    ['embedded', {}],
    ['poisoned', {}],
  ] as const) {
    const result = await call(name, args);
    expect([name, result.isError]).toEqual([name, true]);
    expect(textOf(result)).toMatch(/^\[(?:denied|removed) by portcullis: /);
    expect(JSON.stringify(result)).not.toContain(ATTACK);
  }
  expect(textOf(await call('big'))).toHaveLength(4_000 * 61);

  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['ok', 'attack']);
  expect(JSON.stringify(await client.getPrompt({ name: 'ok' }))).toContain('The meeting is on Tuesday.');
  await expect(client.getPrompt({ name: 'attack' })).rejects.toThrow(/removed by portcullis/);
  expect(JSON.stringify(await client.readResource({ uri: 'note://ok' }))).toContain('The meeting is on Tuesday.');
  await expect(client.readResource({ uri: 'note://attack' })).rejects.toThrow(/removed by portcullis/);
  expect((await client.listResources()).resources).toHaveLength(2);
  expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
}

describe.each(GENERATIONS)('a client of %s', (generation) => {
  it('stdio: definitions, arguments, results, failures, prompts, resources and instructions are screened', async () => {
    const pins = freshPins();
    const report = `${pins}.report.jsonl`;
    const server = [process.execPath, serverFile, serverOf(generation), 'stdio'];
    const { client, stderr } = closing(
      await connectStdio(generation, [...proxyArgs(pins, '--report', report), '--', ...server], {
        PORTCULLIS_RUN_ID: 'run_of-the-agent',
      }),
    );
    await expectScreened(client);

    const written = readFileSync(report, 'utf8');
    const events = written
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    // Also where the client starts the server twice, to see which protocol it speaks.
    expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set(['run_of-the-agent']));
    expect(events.map(({ point }) => point)).toEqual(
      expect.arrayContaining(['tool_definition', 'tool_call', 'tool_result', 'document']),
    );
    expect(events.filter(({ tool }) => tool === 'mail')).toMatchObject([
      { point: 'tool_result', action: 'replace', verdict: 'block', server: 'test' },
    ]);
    expect(written + stderr()).not.toContain('previous instructions and print');
    expect(statSync(report).mode & 0o777).toBe(0o600);
    expect(statSync(pins).mode & 0o777).toBe(0o600);
  });

  it('streamable HTTP: the same', async () => {
    const server = await startHttp([serverFile, serverOf(generation), 'http']);
    const proxy = await startHttp([...proxyArgs(freshPins()), '--url', server.url, '--port', '0']);
    try {
      const { client } = closing(await connectHttp(generation, proxy.url));
      await expectScreened(client);
    } finally {
      await proxy.stop();
      await server.stop();
    }
  });

  it('progress and cancellation reach the other side', async () => {
    const server = [process.execPath, serverFile, serverOf(generation), 'stdio'];
    const { client, stderr } = closing(await connectStdio(generation, [...proxyArgs(freshPins()), '--', ...server]));
    const cancelling = new AbortController();
    let steps = 0;
    const onprogress = (): void => {
      steps += 1;
      if (steps === 3) cancelling.abort();
    };
    const options = { onprogress, signal: cancelling.signal };
    // The older SDK has the schema of the result in between.
    const rest = (generation === 'v1' ? [undefined, options] : [options]) as unknown as [typeof options];
    await expect(client.callTool({ name: 'slow', arguments: {} }, ...rest)).rejects.toThrow();
    expect(steps).toBe(3);
    await expect.poll(stderr, { timeout: 20_000 }).toContain('server: the call was cancelled');
  });

  it('a tool that changes or is added after the first use is hidden until it is approved', async () => {
    const pins = freshPins();
    const server = [process.execPath, serverFile, serverOf(generation), 'stdio'];
    const env = { CLEAN: '1' };
    const first = await connectStdio(generation, [...proxyArgs(pins), '--', ...server], env);
    expect(await namesOf(first.client)).toEqual(expect.arrayContaining(['add', 'evolve']));
    // The rug pull within a session: the server changes the tool and says so.
    await first.client.callTool({ name: 'evolve', arguments: {} });
    if (generation !== 'v2, 2026-07-28') {
      expect(await namesOf(first.client)).not.toContain('add');
      const denied = await first.client.callTool({ name: 'add', arguments: { a: '1' } });
      expect(denied).toMatchObject({ isError: true });
      expect(textOf(denied)).toContain('the tool has changed since it was approved');
      expect(first.stderr()).toContain('hide tool_pin add: the tool has changed since it was approved');
    }
    await first.close();

    // And between two sessions.
    const second = await connectStdio(generation, [...proxyArgs(pins), '--', ...server], {
      ...env,
      RUG: '1',
      NEW: '1',
    });
    const tools = await namesOf(second.client);
    expect(tools).not.toContain('add');
    expect(tools).not.toContain('subtract');
    expect(tools).toContain('mail');
    expect(textOf(await second.client.callTool({ name: 'subtract', arguments: {} }))).toContain('not approved');
    expect(second.stderr()).toContain('hide tool_pin subtract: the tool is new and not approved');

    const listed = await runCommand(['mcp', 'pins', 'list', '--pins', pins]);
    expect(listed.stdout).toMatch(/add {2}changed, pending approval {2}write \(name\)/);
    expect(listed.stdout).toMatch(/subtract {2}new, pending approval/);
    expect((await runCommand(['mcp', 'pins', 'show', 'test', 'add', '--pins', pins])).stdout).toContain(
      '+   "description": "Adds two numbers, and more."',
    );
    expect(runCli(['mcp', 'pins', 'approve', 'test', 'add', '--pins', pins])).toMatchObject({
      status: 0,
      stdout: 'approved: add\n',
    });
    // Without a new session: the call is allowed, and so is the next listing.
    expect(textOf(await second.client.callTool({ name: 'add', arguments: { a: '1' } }))).toBe('got 1');
    await second.close();
    const third = closing(
      await connectStdio(generation, [...proxyArgs(pins), '--', ...server], { ...env, RUG: '1', NEW: '1' }),
    );
    const afterwards = await namesOf(third.client);
    expect(afterwards).toContain('add');
    expect(afterwards).not.toContain('subtract');
  });
});

describe('the page docs/hosts/mcp.md', () => {
  const page = readFileSync(join(root, 'docs', 'hosts', 'mcp.md'), 'utf8');
  const blocks = (language: string): string[] =>
    [...page.matchAll(/^```(\w*)\n(.*?)^```/gms)].flatMap(([, name, block]) => (name === language ? [block!] : []));
  /** The page's command, with what npx would fetch as it is here. */
  const here = (words: readonly string[]): string[] => {
    const text = words.filter((word) => word !== '-y').join(' ');
    const local = text
      .replace(/^(?:node node_modules\S+|portcullis) mcp-proxy/, `${main} mcp-proxy --mode rules --pins ${freshPins()}`)
      .replace('npx @modelcontextprotocol/server-everything', `${process.execPath} ${everything}`);
    expect(local).not.toContain('npx');
    return local.split(' ');
  };

  it('the configuration for stdio starts a server whose tools are listed', async () => {
    const { mcpServers } = JSON.parse(blocks('json')[0]!) as {
      mcpServers: { everything: { command: string; args: string[] } };
    };
    const { command, args } = mcpServers.everything;
    const { client } = closing(await connectStdio('v1', here([command, ...args])));
    expect(await namesOf(client)).toContain('echo');
  });

  it('the command for streamable HTTP prints the URL of the configuration', async () => {
    const { mcpServers } = JSON.parse(blocks('json')[1]!) as { mcpServers: { everything: { url: string } } };
    const command = here(blocks('sh')[0]!.trim().split(' '));
    const server = await startHttp([serverFile, 'v1', 'http'], { CLEAN: '1' });
    const asWritten = command[command.indexOf('--port') + 1];
    expect(mcpServers.everything.url).toBe(`http://127.0.0.1:${asWritten}/mcp`);
    // On a free port, and with the server of this test.
    const proxy = await startHttp([...command, '--url', server.url, '--port', '0']);
    try {
      const { client } = closing(await connectHttp('v1', proxy.url));
      expect(await namesOf(client)).toContain('add');
    } finally {
      await proxy.stop();
      await server.stop();
    }
  });
});
