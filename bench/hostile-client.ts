// npm run bench -- hostile-client [--dist DIR] [--rows V1,V10]: a hostile client against a built service, row by row of the record.
// With the build of 1.0 the rows fail; bench/record/hostile-service.md has both.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { accountRows, type Row, type Service } from './service/hostile-rows.js';
import { httpLoad } from './service/http-load.js';

const { values } = parseArgs({ options: { dist: { type: 'string', default: 'dist' }, rows: { type: 'string' } } });
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function start(data: string, flags: readonly string[] = [], env = process.env): Promise<Service> {
  const args = [join(values.dist, 'cli', 'main.js'), 'serve', '--data', data, '--port', '0', '--mode', 'rules'];
  const child = spawn(process.execPath, [...args, '--log-level', 'error', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  });
  let output = '';
  const ended = once(child, 'exit');
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  for (;;) {
    const url = /^ready (\S+)$/m.exec(output)?.[1];
    if (url !== undefined)
      return {
        url,
        port: Number(new URL(url).port),
        key: /svc_live_\S+/.exec(output)?.[0] ?? '',
        password: /password (\S+)/.exec(output)?.[1] ?? '',
        output: () => output,
        async end(signal = 'SIGKILL') {
          child.kill(signal);
          await ended;
        },
      };
    if (child.exitCode !== null) throw new Error(output);
    await wait(50);
  }
}

/** Sends bytes over a socket and gives what came back until it closes, or for so long. */
function exchange(port: number, bytes: string | Buffer, ms = 3_000): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text);
    };
    const timer = setTimeout(done, ms);
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', done);
    socket.on('close', done);
  });
}

const head = (key: string, more: string): string =>
  `POST /analyze HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}\r\n`;
const statusOf = (response: string): string => /^HTTP\/1\.1 (\d+)/.exec(response)?.[1] ?? 'none';

/** Sends a whole body before it reads, as simple clients do. */
function sendAll(service: Service, bytes: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1');
    let text = '';
    socket.on('connect', () => {
      socket.pause();
      const body = Buffer.alloc(bytes, 'x');
      socket.write(head(service.key, `Content-Length: ${bytes}\r\nConnection: close\r\n`));
      socket.write(body, () => socket.resume());
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(statusOf(text)));
    setTimeout(() => socket.destroy(), 8_000);
  });
}

const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'portcullis-hostile-'));
  folders.push(made);
  return made;
};

const rows: readonly Row[] = [
  ...accountRows({ dist: values.dist, start, folder }),
  {
    row: 'V1',
    what: '1,100 sockets with a key and no body, never closed: a call 42 s later',
    async run() {
      const service = await start(folder(), []);
      const sockets: Socket[] = [];
      for (let at = 0; at < 1_100; at++) {
        const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
        socket.on('error', () => undefined);
        socket.on('connect', () => socket.write(head(service.key, 'Content-Length: 100\r\n')));
        sockets.push(socket);
      }
      await wait(42_000);
      const body = JSON.stringify({ input: 'x' });
      const late = statusOf(
        await exchange(
          service.port,
          head(service.key, `Connection: close\r\nContent-Length: ${body.length}\r\n`) + body,
        ),
      );
      for (const socket of sockets) socket.destroy();
      await service.end();
      return { seen: late, isGood: late === '200' };
    },
  },
  {
    row: 'V2',
    what: 'clients that send 1.2 and 10 MB before they read: 413s of 20',
    async run() {
      const service = await start(folder());
      const statuses: string[] = [];
      for (let at = 0; at < 10; at++)
        for (const size of [1_200_000, 10_000_000]) statuses.push(await sendAll(service, size));
      await service.end();
      const got = statuses.filter((it) => it === '413').length;
      return { seen: `${got} of 20`, isGood: got === 20 };
    },
  },
  {
    row: 'V3',
    what: 'the session cookie behind TLS (--public-url https://…)',
    async run() {
      const service = await start(folder(), ['--public-url', 'https://portcullis.example']);
      const response = await fetch(`${service.url}/dashboard/api/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: 'https://portcullis.example' },
        body: JSON.stringify({ email: 'owner@localhost', password: service.password }),
      });
      const cookies = response.headers.getSetCookie().join('; ');
      await service.end();
      const isGood = /__Host-/.test(cookies) && /Secure/i.test(cookies);
      return { seen: `${response.status}: ${isGood ? '__Host-, Secure' : 'neither __Host- nor Secure'}`, isGood };
    },
  },
  {
    row: 'V4',
    what: '30 objects of 19,000 values at once: p99 of other calls, beside / alone',
    async run() {
      const service = await start(folder());
      const object = Object.fromEntries(Array.from({ length: 19_000 }, (_, at) => [`name of value number ${at}`, at]));
      const large = JSON.stringify({ input: object });
      const load = (body: string, connections: number) =>
        httpLoad({
          url: service.url,
          path: '/analyze',
          headers: { Authorization: `Bearer ${service.key}` },
          body: () => body,
          connections,
          ms: 4_000,
        });
      const small = JSON.stringify({ input: 'a short text of no harm' });
      await load(small, 4);
      const alone = await load(small, 4);
      const noise = load(large, 30);
      const beside = await load(small, 4);
      await noise;
      await service.end();
      const ratio = beside.p99 / alone.p99;
      return { seen: `${beside.p99.toFixed(0)} / ${alone.p99.toFixed(0)} ms`, isGood: ratio < 10 };
    },
  },
  {
    row: 'V5',
    what: 'mode of the database and its log',
    async run() {
      const data = folder();
      const service = await start(data);
      const modes = ['portcullis.db', 'portcullis.db-wal'].map((name) =>
        (statSync(join(data, name)).mode & 0o777).toString(8),
      );
      await service.end();
      return { seen: modes.join(', '), isGood: modes.every((mode) => mode === '600') };
    },
  },
  {
    row: 'V6',
    what: 'malformed JSON to a dashboard route; an unknown dashboard GET',
    async run() {
      const service = await start(folder());
      const post = await fetch(`${service.url}/dashboard/api/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: service.url },
        body: '{"email":',
      });
      const get = await fetch(`${service.url}/dashboard/api/nothing`);
      const lines = service
        .output()
        .split('\n')
        .filter((line) => line.includes('"level":50')).length;
      await service.end();
      return {
        seen: `${post.status}, ${get.status}, ${lines} error lines`,
        isGood: post.status === 400 && get.status === 404 && lines === 0,
      };
    },
  },
  {
    row: 'V7',
    what: 'the right password after ten wrong tries from elsewhere and 20 s',
    async run() {
      const service = await start(folder());
      const sign = (password: string) =>
        fetch(`${service.url}/dashboard/api/sign-in`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: service.url },
          body: JSON.stringify({ email: 'owner@localhost', password }),
        });
      for (let at = 0; at < 10; at++) await sign(`wrong ${at}`);
      await wait(20_000);
      const { status } = await sign(service.password);
      await service.end();
      return { seen: String(status), isGood: status < 300 };
    },
  },
  {
    row: 'V10',
    what: '101 headers; two Host; two Content-Type',
    async run() {
      const service = await start(folder());
      const body = JSON.stringify({ input: 'x' });
      const end = `Connection: close\r\nContent-Length: ${body.length}\r\n`;
      const many = Array.from({ length: 101 }, (_, at) => `X-${at}: 1\r\n`).join('');
      const seen = [];
      for (const more of [many, 'Host: b\r\n', 'Content-Type: text/plain\r\n'])
        seen.push(statusOf(await exchange(service.port, head(service.key, more + end) + body)));
      await service.end();
      return { seen: seen.join(', '), isGood: seen.join() === '431,400,400' };
    },
  },
  {
    row: 'V10',
    what: 'a lost database beside its pepper',
    async run() {
      const data = folder();
      const service = await start(data);
      await service.end();
      for (const name of ['portcullis.db', 'portcullis.db-wal', 'portcullis.db-shm'])
        try {
          unlinkSync(join(data, name));
        } catch {
          /* not there */
        }
      try {
        await (await start(data)).end();
        return { seen: 'starts empty', isGood: false };
      } catch {
        return { seen: 'refuses to start', isGood: true };
      }
    },
  },
  {
    row: 'contract',
    what: '`1e400` in the evidence: the input as JSON text',
    async run() {
      const service = await start(folder());
      const response = await fetch(`${service.url}/analyze?explain=true`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
        body: '{"input": {"n": 1e400, "big": 12345678901234567890}}',
      });
      const verdict = (await response.json()) as { evidence_id: string };
      const sign = await fetch(`${service.url}/dashboard/api/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: service.url },
        body: JSON.stringify({ email: 'owner@localhost', password: service.password }),
      });
      const cookie = sign.headers
        .getSetCookie()
        .map((it) => it.split(';')[0])
        .join('; ');
      const record = await fetch(`${service.url}/dashboard/api/evidence/${verdict.evidence_id}`, {
        headers: { cookie },
      });
      const text = await record.text();
      await service.end();
      const isGood = text.includes('1e400') && text.includes('12345678901234567890');
      return { seen: isGood ? 'as sent' : 'altered', isGood };
    },
  },
];

process.stdout.write('| Row | What | Seen | As wanted |\n| - | - | - | - |\n');
try {
  for (const { row, what, run } of rows) {
    if (values.rows !== undefined && !values.rows.split(',').includes(row)) continue;
    const { seen, isGood } = await run().catch((error: unknown) => ({
      seen: `failed: ${String(error).slice(0, 80)}`,
      isGood: false,
    }));
    process.stdout.write(`| ${row} | ${what} | ${seen} | ${isGood ? 'yes' : 'no'} |\n`);
  }
} finally {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
}
process.exit(0);
