import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { runCli } from '../../cli/run-cli.js';
import { ATTACK } from '../adapters/matrix.js';
import {
  connectHttp,
  connectStdio,
  everything,
  GENERATIONS,
  type Generation,
  main,
  root,
  serverFile,
  startHttp,
} from './connect.js';

// The gateway between the official SDK's clients and servers of both generations, each as a process of its own.

vi.setConfig({ testTimeout: 120_000 });
const folder = mkdtempSync(join(tmpdir(), 'portcullis-mcp-'));
afterAll(() => rmSync(folder, { recursive: true }));
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});
function closing<T extends { close(): Promise<void> }>(each: T): T {
  open.push(each);
  return each;
}

let files = 0;
const freshPins = (): string => join(folder, `pins-${++files}.json`);
const proxyArgs = (pins: string, ...more: readonly string[]): string[] => [
  ...[main, 'mcp-proxy', '--mode', 'rules', '--pins', pins, '--name', 'test', ...more],
];
const textOf = (result: unknown): string =>
  (result as CallToolResult).content
    .map((block: ContentBlock) => ('text' in block ? block.text : block.type))
    .join('\n');
const namesOf = async (client: { listTools(): Promise<{ tools: { name: string }[] }> }): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

const serverOf = (generation: string): string => generation.slice(0, 2);

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
    const report = join(folder, `report-${files}.jsonl`);
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

    const listed = runCli(['mcp', 'pins', 'list', '--pins', pins]);
    expect(listed.stdout).toMatch(/add {2}changed, pending approval {2}write \(name\)/);
    expect(listed.stdout).toMatch(/subtract {2}new, pending approval/);
    expect(runCli(['mcp', 'pins', 'show', 'test', 'add', '--pins', pins]).stdout).toContain(
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

describe('the official server "everything"', () => {
  it.each(['v1', 'v2, 2025-11-25'] as const)(
    'stdio, client of %s: every response is that of a direct connection',
    async (generation) => {
      const direct = closing(await connectStdio(generation, [everything]));
      const through = closing(
        await connectStdio(generation, [...proxyArgs(freshPins()), '--', process.execPath, everything]),
      );
      const [a, b] = [direct.client, through.client];
      expect(b.getInstructions()).toBe(a.getInstructions());
      expect(b.getServerVersion()).toEqual(a.getServerVersion());
      expect(await b.listTools()).toEqual(await a.listTools());
      expect(await b.listPrompts()).toEqual(await a.listPrompts());
      expect(await b.listResources()).toEqual(await a.listResources());
      expect(await b.listResourceTemplates()).toEqual(await a.listResourceTemplates());
      for (const [name, args] of [
        ['echo', { message: 'Hello.' }],
        ['get-sum', { a: 1, b: 2 }],
        ['get-sum', { a: 'no number' }],
        ['get-tiny-image', {}],
        ['get-annotated-message', { messageType: 'error', includeImage: true }],
        ['get-structured-content', { location: 'Chicago' }],
        ['get-resource-links', { count: 3 }],
        ['trigger-long-running-operation', { duration: 1, steps: 2 }],
      ] as const)
        expect(await b.callTool({ name, arguments: args }).catch(String)).toEqual(
          await a.callTool({ name, arguments: args }).catch(String),
        );
      for (const { name } of (await a.listPrompts()).prompts) {
        const args =
          name === 'args-prompt'
            ? { city: 'Paris' }
            : name === 'completable-prompt'
              ? { department: 'Sales', name: 'Kim' }
              : name === 'resource-prompt'
                ? { resourceType: 'Text', resourceId: '1' }
                : undefined;
        const wanted = await a.getPrompt({ name, ...(args ? { arguments: args } : {}) } as never).catch(String);
        const got = await b.getPrompt({ name, ...(args ? { arguments: args } : {}) } as never).catch(String);
        expect(withoutTimes(got)).toEqual(withoutTimes(wanted));
      }
      for (const { uri } of (await a.listResources()).resources)
        expect(await b.readResource({ uri })).toEqual(await a.readResource({ uri }));
      expect(through.stderr()).not.toContain('portcullis:');
    },
  );

  it('sampling and elicitation reach the client', async () => {
    const capabilities = { sampling: {}, elicitation: {} };
    const through = closing(
      await connectStdio('v1', [...proxyArgs(freshPins()), '--', process.execPath, everything], {}, capabilities),
    );
    const { client } = through;
    const asked: string[] = [];
    client.setRequestHandler(
      ...((await handler('CreateMessageRequestSchema', async () => {
        asked.push('sampling');
        return { model: 'test', role: 'assistant', content: { type: 'text', text: 'sampled' } };
      })) as [never, never]),
    );
    client.setRequestHandler(
      ...((await handler('ElicitRequestSchema', async () => {
        asked.push('elicitation');
        return { action: 'decline' };
      })) as [never, never]),
    );
    expect(await namesOf(client)).toEqual(
      expect.arrayContaining(['trigger-sampling-request', 'trigger-elicitation-request']),
    );
    expect(
      textOf(await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'Say hello.' } })),
    ).toContain('sampled');
    await client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
    expect(asked).toEqual(['sampling', 'elicitation']);
  });

  it('streamable HTTP: tools are listed and called', async () => {
    const server = await startEverything();
    const proxy = await startHttp([...proxyArgs(freshPins()), '--url', server.url, '--port', '0']);
    try {
      const direct = closing(await connectHttp('v1', server.url));
      const through = closing(await connectHttp('v1', proxy.url));
      expect(await through.client.listTools()).toEqual(await direct.client.listTools());
      expect(textOf(await through.client.callTool({ name: 'echo', arguments: { message: 'Hello.' } }))).toBe(
        'Echo: Hello.',
      );
      expect(textOf(await through.client.callTool({ name: 'echo', arguments: { message: ATTACK } }))).toContain(
        'denied by portcullis',
      );
    } finally {
      await proxy.stop();
      await server.stop();
    }
  });
});

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

function withoutTimes(value: unknown): string {
  return JSON.stringify(value).replace(/\d{1,2}:\d{2}:\d{2}[^"\\]*/g, 'TIME');
}

async function handler(
  schema: string,
  run: () => Promise<unknown>,
): Promise<readonly [unknown, () => Promise<unknown>]> {
  const types = (await import('@modelcontextprotocol/sdk/types.js')) as unknown as Record<string, unknown>;
  return [types[schema], run];
}

/** On a port that the system chooses: the server itself only takes one that is given, and says nothing once it listens. */
function startEverything(): ReturnType<typeof startHttp> {
  const program = `
    import { Server } from 'node:net';
    const { listen } = Server.prototype;
    Server.prototype.listen = function (...given) {
      this.once('listening', () => console.log('http://127.0.0.1:' + this.address().port + '/mcp'));
      return listen.apply(this, given);
    };
    process.argv[2] = 'streamableHttp';
    await import(${JSON.stringify(everything)});`;
  return startHttp(['--input-type=module', '-e', program, '--', 'x'], { PORT: '0' });
}

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
