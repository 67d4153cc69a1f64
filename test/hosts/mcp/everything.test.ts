import { describe, expect, it, vi } from 'vitest';
import { ATTACK } from '../adapters/matrix.js';
import {
  closing,
  connectHttp,
  connectStdio,
  everything,
  freshPins,
  namesOf,
  proxyArgs,
  startHttp,
  textOf,
} from './connect.js';

// The gateway in front of a server that others wrote, as a process of its own.

vi.setConfig({ testTimeout: 120_000 });

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
