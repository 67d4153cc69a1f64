import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createEngine } from '../src/index.js';
import { createGateway } from '../src/integrations/mcp/gateway.js';
import { type Analyzer, createGuard } from '../src/policy/index.js';
import { installedCorpus, mixed } from './corpus.js';
import { timingOf } from './measure.js';

// What `mcp-proxy` adds to a tool call: npm run bench -- mcp [--calls N] [--mode rules]. The official test server is asked
// directly and through the gateway in turn, with a text that neither has seen. Each response is checked before it counts.
// `echo` has its text in the argument and in the result; a tool `read` of a server in this file has it in the result alone, as
// most tools do. What the scans cost, and the gateway without them, is the CPU time of this
// process on other texts of the corpus.

const { values } = parseArgs({
  options: { calls: { type: 'string', default: '200' }, mode: { type: 'string', default: 'rules' } },
});
const calls = Number(values.calls);
const EVERYTHING = 'test/hosts/node_modules/@modelcontextprotocol/server-everything/dist/index.js';
if (!existsSync(EVERYTHING)) throw new Error('the official test server is missing: npm ci --prefix test/hosts');
const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-mcp-'));
const proxy = ['dist/cli/main.js', 'mcp-proxy', '--mode', values.mode, '--pins', join(folder, 'pins.json')];
const children: ChildProcess[] = [];

type Call = (method: string, params: object) => Promise<unknown>;

const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess => {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, ...env } });
  children.push(child);
  return child;
};

let ids = 0;

const stdioCall = (args: readonly string[]): Call => {
  const { stdin, stdout } = start(args);
  if (stdin === null || stdout === null) throw new Error('no pipes');
  const waiting = new Map<number, (response: unknown) => void>();
  createInterface({ input: stdout }).on('line', (line) => {
    const message = JSON.parse(line) as { readonly id?: number; readonly method?: string };
    if (message.id !== undefined && message.method === undefined) waiting.get(message.id)?.(message);
  });
  return (method, params) =>
    new Promise((resolve) => {
      const id = ++ids;
      waiting.set(id, resolve);
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
};

const httpCall = (url: string): Call => {
  let session: string | undefined;
  return async (method, params) => {
    const id = ++ids;
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    };
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    });
    session ??= response.headers.get('mcp-session-id') ?? undefined;
    const data = /^data: (.*"id".*)$/m.exec(await response.text())?.[1];
    if (data === undefined) throw new Error(`HTTP ${response.status} without a response`);
    return JSON.parse(data);
  };
};

const handshake = async (call: Call): Promise<void> => {
  await call('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  });
  await call('tools/list', {});
};

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  return port;
};

const firstLine = async (child: ChildProcess): Promise<string> => {
  const [chunk] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  return chunk.toString();
};

type Tool = 'echo' | 'read';
const argumentsOf = (tool: Tool, message: string, index: number): object =>
  tool === 'echo' ? { message } : { page: index };

const timeCall = async (call: Call, tool: Tool, message: string, index: number): Promise<number> => {
  const started = performance.now();
  const response = await call('tools/call', { name: tool, arguments: argumentsOf(tool, message, index) });
  const time = performance.now() - started;
  if (!JSON.stringify(response).includes(JSON.stringify(message).slice(1, -1))) throw new Error('a wrong response');
  return time;
};

/** A server whose tool reads the n-th text of a file. */
const READER = `
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const texts = JSON.parse(readFileSync(process.argv[1], 'utf8'));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === 'initialize'
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'reader', version: '1' } }
    : method === 'tools/list'
      ? { tools: [{ name: 'read', description: 'Reads a page.', inputSchema: { type: 'object', properties: { page: { type: 'number' } } } }] }
      : { content: [{ type: 'text', text: texts[params.arguments.page] }] };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;

const engine = createEngine({ model: false });
await engine.warmUp();
const allowed = await engine.analyze('Hello.');
const nothing: Analyzer = { analyze: async () => allowed };

/** Milliseconds of CPU time in this process. */
const cpuTime = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** CPU time of the scans of a call, and of the whole call in a gateway whose engine says nothing. */
const parts = async (
  tool: Tool,
  texts: readonly string[],
): Promise<{ readonly scans: number; readonly rest: number }> => {
  const connection = createGateway({
    guard: createGuard({ engine: nothing, cache: false }),
    report: () => {},
  }).connect();
  const times: { readonly scans: number[]; readonly rest: number[] } = { scans: [], rest: [] };
  for (const [index, message] of texts.entries()) {
    const call = { name: tool, arguments: argumentsOf(tool, message, index) };
    const result = { content: [{ type: 'text', text: tool === 'echo' ? `Echo: ${message}` : message }] };
    const request = JSON.stringify({ jsonrpc: '2.0', id: index, method: 'tools/call', params: call });
    const response = JSON.stringify({ jsonrpc: '2.0', id: index, result });
    const started = cpuTime();
    await engine.analyze(call as never, { channel: 'tool_call' });
    await engine.analyze(result.content[0]?.text ?? '', { channel: 'tool_result' });
    const scanned = cpuTime();
    await connection.fromClient(request);
    await connection.fromServer(response);
    if (index < 20) continue;
    times.scans.push(scanned - started);
    times.rest.push(cpuTime() - scanned);
  }
  return { scans: timingOf(times.scans).p50, rest: timingOf(times.rest).p50 };
};

const rows: string[] = [];
const SIZES = [100, 1_000, 10_000] as const;
const textsOf = (size: number): readonly string[] => mixed(installedCorpus().pieces(size, 2 * calls), 2 * calls + 40);

const compare = async (
  transport: string,
  tool: Tool,
  direct: Call,
  through: Call,
  sizes: readonly number[] = SIZES,
): Promise<void> => {
  await handshake(direct);
  await handshake(through);
  for (const size of sizes) {
    const all = textsOf(size);
    const times: { readonly direct: number[]; readonly through: number[] } = { direct: [], through: [] };
    let refused = 0;
    for (const [index, message] of all.entries()) {
      if (times.through.length === calls) break;
      // Texts of the corpus that the rules block would be refused, and not reach the server.
      const first = index % 2 === 0;
      const own = first ? await timeCall(direct, tool, message, index) : 0;
      const time = await timeCall(through, tool, message, index).catch(() => undefined);
      const later = first ? own : await timeCall(direct, tool, message, index);
      if (time === undefined) {
        refused += 1;
        continue;
      }
      // The first calls compile patterns on both sides.
      if (index < 20) continue;
      times.direct.push(later);
      times.through.push(time);
    }
    const [a, b] = [timingOf(times.direct), timingOf(times.through)];
    const ms = (microseconds: number): string => `${(microseconds / 1_000).toFixed(2)} ms`;
    const { scans, rest } = await parts(tool, all.slice(-calls - 20));
    rows.push(
      `| ${transport} | ${tool} | ${size} | ${a.n} | ${ms(a.p50)} | ${ms(b.p50)} | **${ms(b.p50 - a.p50)}** | ${ms(scans)} | ${ms(rest)} | ${ms(b.p95)} | ${refused} |`,
    );
    console.error(rows.at(-1));
  }
};

try {
  for (const size of SIZES) {
    const file = join(folder, `${size}.json`);
    writeFileSync(file, JSON.stringify(textsOf(size)));
    const reader = ['--input-type=module', '-e', READER, file];
    const gateway = stdioCall([...proxy, '--', process.execPath, ...reader]);
    await compare('stdio', 'read', stdioCall(reader), gateway, [size]);
  }
  await compare('stdio', 'echo', stdioCall([EVERYTHING]), stdioCall([...proxy, '--', process.execPath, EVERYTHING]));
  const port = await freePort();
  await firstLine(start([EVERYTHING, 'streamableHttp'], { PORT: String(port) }));
  const url = `http://127.0.0.1:${port}/mcp`;
  while (
    (await fetch(url).then(
      ({ status }) => status,
      () => 0,
    )) === 0
  )
    await new Promise((again) => setTimeout(again, 100));
  const ready = await firstLine(start([...proxy, '--url', url, '--port', '0']));
  await compare('streamable HTTP', 'echo', httpCall(url), httpCall(/http\S+/.exec(ready)?.[0] ?? ''));
  console.log(`mode ${values.mode}, ${process.version}, load average ${(loadavg()[0] ?? 0).toFixed(1)}\n`);
  console.log(
    '| transport | tool | characters | n | direct p50 | gateway p50 | added at p50 | CPU of the scans | CPU of all else | gateway p95 | blocked |',
  );
  console.log('| - | - | -: | -: | -: | -: | -: | -: | -: | -: | -: |');
  console.log(rows.join('\n'));
} finally {
  for (const child of children) child.kill();
  await engine.close();
  rmSync(folder, { recursive: true });
}
