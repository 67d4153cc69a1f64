import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A text, or a call of a tool. */
export type Step = string | { readonly name: string; readonly input: unknown };

interface Block {
  readonly type: string;
  readonly content?: unknown;
}

export interface MessagesRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
}

/** A mock of Anthropic's Messages API on 127.0.0.1 that says these steps one after another and keeps the requests. */
export async function messagesApi(steps: readonly Step[], scriptsAll = false) {
  const requests: MessagesRequest[] = [];
  let at = 0;
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    if (request.url?.includes('count_tokens')) return json(response, { input_tokens: 1 });
    if (!request.url?.startsWith('/v1/messages')) return json(response, {}, 404);
    const asked = JSON.parse(body) as MessagesRequest;
    requests.push(asked);
    // Claude Code asks small questions of its own, without tools.
    const isStep = scriptsAll || (asked.tools !== undefined && asked.tools.length > 0);
    const step = isStep ? steps[Math.min(at++, steps.length - 1)]! : 'ok';
    const full =
      typeof step === 'string'
        ? { type: 'text', text: step }
        : { type: 'tool_use', id: `toolu_${at}`, name: step.name, input: step.input };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const stop_reason = typeof step === 'string' ? 'end_turn' : 'tool_use';
    const message = {
      id: `msg_${requests.length}`,
      type: 'message',
      role: 'assistant',
      model: asked.model,
      stop_sequence: null,
      usage,
    };
    if (!asked.stream) return json(response, { ...message, content: [full], stop_reason });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (event: { readonly type: string }): boolean =>
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const [start, delta] =
      typeof step === 'string'
        ? [
            { type: 'text', text: '' },
            { type: 'text_delta', text: step },
          ]
        : [
            { ...full, input: {} },
            { type: 'input_json_delta', partial_json: JSON.stringify(step.input) },
          ];
    send({ type: 'message_start', message: { ...message, content: [], stop_reason: null } } as never);
    send({ type: 'content_block_start', index: 0, content_block: start } as never);
    send({ type: 'content_block_delta', index: 0, delta } as never);
    send({ type: 'content_block_stop', index: 0 } as never);
    send({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage } as never);
    send({ type: 'message_stop' });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
