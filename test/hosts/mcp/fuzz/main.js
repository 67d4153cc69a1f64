// `npm run proof -- fuzz-mcp [--from N] [--cases N] [--seed N]`: random bytes, encodings, framings and JSON oddities between a client and a server
// of the official SDK with `portcullis mcp-proxy` between them, over stdio and HTTP in turn. A planted attack or a changed
// tool must not arrive, in the client or in any bytes for it; an honest message has to arrive equal.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ATTACKS, CHANGED, caseOf, resultOf } from './cases.js';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '20000' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
  },
});
const cases = Number(values.cases);
const seed = Number(values.seed);
const AT_ONCE = 16;
const root = join(import.meta.dirname, '..', '..', '..', '..');
const serverFile = join(import.meta.dirname, 'server.js');
const folder = mkdtempSync(join(tmpdir(), 'portcullis-fuzz-'));
const proxy = [join(root, 'dist', 'cli', 'main.js'), 'mcp-proxy', '--mode', 'rules', '--quiet', '--timeout', '120000'];
const children = [];
const start = (args) => {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  return child;
};
const urlOf = async (child) => /http\S+/.exec(String((await once(child.stdout, 'data'))[0]))[0];

const encodings = [
  (text) => Buffer.from(text),
  (text) => Buffer.from(text, 'utf16le'),
  (text) => Buffer.from(text, 'utf16le').swap16(),
  (text) => Buffer.from(text.replaceAll('I', '+AEk-')),
  // The part of a text in base64 that doesn't depend on where it begins is the text from its start, as it is planted.
  (text) => Buffer.from(Buffer.from(text).toString('base64').slice(0, 40)),
];
const PLANTED = ATTACKS.flatMap((text) => encodings.map((encode) => encode(text)));
let leaks = 0;
const seen = (bytes, where) => {
  const planted = PLANTED.find((each) => bytes.includes(each));
  if (planted === undefined) return;
  leaks += 1;
  const at = bytes.indexOf(planted);
  console.log(`LEAK ${where}: ${bytes.subarray(Math.max(0, at - 300), at + 300)}`);
};

const connectStdio = async () => {
  const child = start([
    ...proxy,
    '--pins',
    join(folder, 'stdio.json'),
    '--',
    process.execPath,
    serverFile,
    'stdio',
    values.seed,
  ]);
  const incoming = new PassThrough();
  let tail = Buffer.alloc(0);
  child.stdout.on('data', (chunk) => {
    const bytes = Buffer.concat([tail, chunk]);
    seen(bytes, 'in the bytes of stdio');
    tail = bytes.subarray(-500);
    if (PLANTED.some((planted) => tail.includes(planted))) tail = Buffer.alloc(0);
    incoming.write(chunk);
  });
  const client = new Client({ name: 'fuzz', version: '1.0.0' });
  await client.connect(new StdioServerTransport(incoming, child.stdin), { timeout: 120_000 });
  return client;
};

const connectHttp = async () => {
  const upstream = await urlOf(start([serverFile, 'http', values.seed]));
  const url = await urlOf(start([...proxy, '--pins', join(folder, 'http.json'), '--url', upstream, '--port', '0']));
  const tapped = async (...given) => {
    const response = await fetch(...given);
    const { body, status, headers } = response;
    const bytes = Buffer.from(await new Response(body).arrayBuffer().catch(() => ''));
    seen(Buffer.concat([bytes, Buffer.from(JSON.stringify([...headers]))]), 'in the bytes of HTTP');
    return new Response(bytes, { status, headers });
  };
  const client = new Client({ name: 'fuzz', version: '1.0.0' });
  const options = {
    fetch: tapped,
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
    },
  };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), options), { timeout: 120_000 });
  return client;
};

const clients = [await connectStdio(), await connectHttp()];
const counts = { honest: 0, attack: 0, list: 0, changed: 0, answered: 0 };
for (const client of clients) {
  client.onerror = () => {};
  client.fallbackRequestHandler = async () => ({});
  await client.listTools();
}

const run = async (number) => {
  const each = caseOf(number, seed);
  counts[each.kind] += 1;
  const client = clients[Math.floor(number / 3) % 2];
  const options = { timeout: each.isHonest ? 120_000 : 1_500 };
  const asked =
    each.kind === 'list'
      ? client.listTools({ cursor: String(number) }, options)
      : client.callTool({ name: 'read', arguments: { case: number } }, undefined, options);
  const result = await asked.catch((error) => ({ failed: [error.message, error.cause?.code].join(' ').trim() }));
  if (result.failed === undefined || !/timed out/i.test(result.failed)) counts.answered += 1;
  seen(Buffer.from(JSON.stringify(result)), `in the client, case ${number}`);
  // The same text in a result of another method lists nothing.
  if (each.kind === 'list' && JSON.stringify(result.tools ?? '').includes(CHANGED.description)) {
    leaks += 1;
    console.log(`LEAK of a changed tool, case ${number}`);
  }
  if (!each.isHonest || isDeepStrictEqual(result, resultOf(each))) return;
  counts.changed += 1;
  console.log(`CHANGED case ${number}: ${JSON.stringify(result).slice(0, 400)}`);
};

try {
  let next = Number(values.from);
  const worker = async () => {
    for (let number = next++; number < cases; number = next++) {
      await run(number);
      if (number % 2_000 === 1_999) console.error(`${number + 1} cases, ${leaks} leaks, ${counts.changed} changed`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true });
}
const { honest, attack, list, changed, answered } = counts;
console.log(
  `seed ${seed}: ${cases} cases (${honest} honest, ${attack} attacks, ${list} changed tools), ${answered} answered: ${leaks} leaks, ${changed} honest messages changed`,
);
process.exit(leaks + changed > 0 ? 1 : 0);
