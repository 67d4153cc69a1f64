import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An event of a stream, by its name where the API names it; a string is sent as it is. */
export type SentEvent = string | object;

/** How a stream ends: as it should, by a broken connection, or not at all. */
export type Ending = 'ends' | 'breaks' | 'hangs';

/** An API on 127.0.0.1 that answers each request with these events, every one in a packet of its own. */
export async function eventServer() {
  let events: readonly SentEvent[] = [];
  let ending: Ending = 'ends';
  let type = 'text/event-stream';
  const closed: Promise<void>[] = [];
  const server = createServer(async (request, response) => {
    closed.push(new Promise((resolve) => response.on('close', resolve)));
    request.resume();
    response.writeHead(200, type === '' ? {} : { 'content-type': type });
    for (const event of events) await write(response, event);
    if (ending === 'ends') response.end();
    if (ending === 'breaks') response.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(next: readonly SentEvent[], ends: Ending = 'ends', mediaType = 'text/event-stream'): void {
      [events, ending, type] = [next, ends, mediaType];
    },
    /** Resolves when the newest response has ended. */
    closed: (): Promise<void> | undefined => closed.at(-1),
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function write(response: ServerResponse, event: SentEvent): Promise<void> {
  const { type } = event as { readonly type?: string };
  const named = type === undefined ? '' : `event: ${type}\n`;
  response.write(typeof event === 'string' ? event : `${named}data: ${JSON.stringify(event)}\n\n`);
  await new Promise((resolve) => setImmediate(resolve));
}
