import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { installedCorpus, mixed } from './corpus.js';
import { timingOf } from './measure.js';

// What `mcp-proxy` adds to a tool call: npm run bench -- mcp [--calls N] [--mode rules]. The official test server is asked
// directly and through the gateway in turn, with a text that neither has seen. Each response is checked before it counts.

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

const echo = async (call: Call, message: string): Promise<number> => {
  const started = performance.now();
  const response = await call('tools/call', { name: 'echo', arguments: { message } });
  const time = performance.now() - started;
  if (!JSON.stringify(response).includes(JSON.stringify(message).slice(1, -1))) throw new Error('a wrong response');
  return time;
};

const rows: string[] = [];
const compare = async (transport: string, direct: Call, through: Call): Promise<void> => {
  await handshake(direct);
  await handshake(through);
  for (const size of [100, 1_000, 10_000]) {
    const all = mixed(installedCorpus().pieces(size, 2 * calls), 2 * calls + 40);
    const times: { readonly direct: number[]; readonly through: number[] } = { direct: [], through: [] };
    let refused = 0;
    for (const [index, message] of all.entries()) {
      if (times.through.length === calls) break;
      // Texts of the corpus that the rules block would be refused, and not reach the server.
      const first = index % 2 === 0;
      const own = first ? await echo(direct, message) : 0;
      const time = await echo(through, message).catch(() => undefined);
      const later = first ? own : await echo(direct, message);
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
    rows.push(
      `| ${transport} | ${size} | ${a.n} | ${ms(a.p50)} | ${ms(b.p50)} | **${ms(b.p50 - a.p50)}** | ${ms(a.p95)} | ${ms(b.p95)} | ${refused} |`,
    );
    console.error(rows.at(-1));
  }
};

try {
  await compare('stdio', stdioCall([EVERYTHING]), stdioCall([...proxy, '--', process.execPath, EVERYTHING]));
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
  await compare('streamable HTTP', httpCall(url), httpCall(/http\S+/.exec(ready)?.[0] ?? ''));
  console.log(`mode ${values.mode}, ${process.version}, load average ${(loadavg()[0] ?? 0).toFixed(1)}\n`);
  console.log(
    '| transport | characters | n | direct p50 | gateway p50 | added at p50 | direct p95 | gateway p95 | blocked |',
  );
  console.log('| - | -: | -: | -: | -: | -: | -: | -: | -: |');
  console.log(rows.join('\n'));
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true });
}
