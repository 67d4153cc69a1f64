// A server of the official SDK whose bytes are those of a fuzz case: node server.js stdio|http SEED.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { CHANGED, caseOf, httpOf, linesOf, resultOf, TRUSTED, textsOf } from './cases.js';

const [transport, seed] = process.argv.slice(2);
const server = new Server({ name: 'fuzz', version: '1.0.0' }, { capabilities: { tools: {} } });
const numberOf = (params) => Number(params?.arguments?.case ?? params?.cursor ?? Number.NaN);
server.setRequestHandler(ListToolsRequestSchema, ({ params }) => ({
  tools: Number.isNaN(numberOf(params)) ? TRUSTED : [CHANGED],
}));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => resultOf(caseOf(numberOf(params), Number(seed))));
const [near, far] = InMemoryTransport.createLinkedPair();
await server.connect(far);
const waiting = new Map();
near.onmessage = (message) => waiting.get(message.id)?.(message);
await near.start();

/** The server's response to a request, and the case that it belongs to. */
async function answer(request) {
  // Ids of several sessions may be the same.
  const own = `${Math.random()}`;
  const response = await new Promise((resolve) => {
    waiting.set(own, resolve);
    near.send({ ...request, id: own });
  });
  waiting.delete(own);
  const number = numberOf(request.params);
  const each = Number.isNaN(number) ? undefined : caseOf(number, Number(seed));
  if (each !== undefined && each.kind !== 'list') resultOf(each);
  return { each, response: { ...response, id: request.id } };
}

if (transport === 'stdio') {
  createInterface({ input: process.stdin }).on('line', async (line) => {
    const request = JSON.parse(line);
    if (request.id === undefined || request.method === undefined) return;
    const { each, response } = await answer(request);
    const bytes =
      each === undefined ? [Buffer.from(`${JSON.stringify(response)}\n`)] : linesOf(each, textsOf(each, response));
    process.stdout.write(Buffer.concat(bytes));
  });
} else {
  const http = createServer(async (asked, given) => {
    const body = (await asked.toArray()).join('');
    const request = asked.method === 'POST' ? JSON.parse(body) : undefined;
    if (request?.id === undefined || request.method === undefined)
      return given.writeHead(asked.method === 'POST' ? 202 : 405).end();
    const { each, response } = await answer(request);
    if (each === undefined)
      return given.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(response));
    const { status, headers, chunks } = httpOf(each, textsOf(each, response));
    // Shorter than its content-length: the connection is ended after it.
    given.strictContentLength = false;
    given.writeHead(status, headers);
    for (const chunk of chunks) given.write(chunk);
    return given.end();
  });
  // None ends while the gateway takes it up again.
  http.keepAliveTimeout = 0;
  http.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${http.address().port}/mcp\n`));
}
